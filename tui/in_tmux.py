#!/usr/bin/env python3
"""The interactive program in a real tmux: its own server, nothing of the user's configuration.

    python3 tui/in_tmux.py --bin target/debug/pellucid [--match REGEX]

The screen model of this folder says what a terminal should do; tmux says what one does. Each row of CHECKS is a
conversation with a provider on loopback that sends its answer piece by piece, as the check asks for it. Without tmux
nothing is checked, and the program says so. Python 3.11 or newer, standard library only.
"""

import argparse
import concurrent.futures
import http.server
import json
import os
import re
import shlex
import shutil
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE = float(os.environ.get("TUI_PATIENCE", "30"))
HINT = "Ask anything"


class Provider:
    """A provider whose answer a check writes piece by piece."""

    def __init__(self):
        provider = self
        self.ready, self.pieces, self.is_over, self.n_requests = threading.Condition(), [], False, 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                self.rfile.read(int(self.headers.get("content-length") or 0))
                with provider.ready:
                    provider.n_requests += 1
                    provider.pieces, provider.is_over = [], False
                    provider.ready.notify_all()
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                try:
                    self.answer()
                except OSError:
                    pass  # the program was ended

            def answer(self):
                item = {"type": "message", "role": "assistant", "id": "m1", "content": []}
                self.event("response.created", response={"id": "r1"})
                self.event("response.output_item.added", output_index=0, item=item)
                n_sent, text = 0, ""
                while True:
                    with provider.ready:
                        provider.ready.wait_for(lambda: provider.is_over or len(provider.pieces) > n_sent)
                        new = provider.pieces[n_sent:]
                        if not new:
                            break
                    for piece in new:
                        self.event("response.output_text.delta", item_id="m1", output_index=0, content_index=0, delta=piece)
                    n_sent, text = n_sent + len(new), text + "".join(new)
                item["content"] = [{"type": "output_text", "text": text}]
                usage = {"input_tokens": 21000, "input_tokens_details": {"cached_tokens": 9000}, "output_tokens": 60,
                         "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 21060}
                self.event("response.output_item.done", output_index=0, item=item)
                self.event("response.completed", response={"id": "r1", "usage": usage})

            def event(self, kind, **more):
                self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode())
                self.wfile.flush()

        class Threads(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

        self.http = Threads(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def asked(self, n):
        """Waits for the request with this number."""
        with self.ready:
            assert self.ready.wait_for(lambda: self.n_requests >= n, PATIENCE), f"waited for request {n}"

    def send(self, text):
        with self.ready:
            self.pieces.append(text)
            self.ready.notify_all()

    def end(self):
        with self.ready:
            self.is_over = True
            self.ready.notify_all()


class Pane:
    """A shell in a tmux of its own, and the program in that shell."""

    def __init__(self, binary, columns=100, rows=30):
        self.binary, self.provider = binary, Provider()
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="in-tmux-"))
        self.home, self.work = os.path.join(self.top, "home"), os.path.join(self.top, "work")
        os.makedirs(self.home)
        os.makedirs(self.work)
        with open(os.path.join(self.home, "config.toml"), "w") as f:
            f.write(f'model_provider = "mock"\n[model_providers.mock]\nname = "Mock"\nbase_url = "http://127.0.0.1:{self.provider.port}/v1"\n'
                    f'wire_api = "responses"\n[projects."{self.work}"]\ntrust_level = "trusted"\n')
        with open(os.path.join(self.top, "tmux.conf"), "w") as f:
            f.write("set -g history-limit 100000\nset -g set-clipboard on\nset -s extended-keys on\nset -g status off\n"
                    "set -g default-terminal tmux-256color\nset -g default-shell /bin/sh\nset -g remain-on-exit on\n")
        env = {"HOME": self.top, "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PELLUCID_HOME": self.home, "PS1": "$ ", "TERM": "xterm-256color",
               "SHELL": "/bin/sh", "TMUX_TMPDIR": self.top}
        self.env = env
        self.tmux("-f", os.path.join(self.top, "tmux.conf"), "new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", self.work, "sh -i")
        self.until(lambda text: text.rstrip().endswith("$"), "the shell")

    def tmux(self, *args):
        done = subprocess.run(["tmux", "-S", os.path.join(self.top, "socket"), *args], env=self.env, cwd=self.top, capture_output=True, timeout=PATIENCE)
        assert done.returncode == 0, f"tmux {args}: {done.stderr.decode()}"
        return done.stdout.decode()

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def everything(self):
        """What the terminal shows and what has left it at the top."""
        return self.tmux("capture-pane", "-p", "-S", "-")

    def fact(self, name):
        return self.tmux("display-message", "-p", f"#{{{name}}}").strip()

    def until(self, test, what):
        end = time.monotonic() + PATIENCE
        while not test(self.screen()):
            assert time.monotonic() < end, f"waited for {what}; the screen:\n{self.screen()}"
            time.sleep(0.02)

    def sees(self, *texts):
        for text in texts:
            self.until(lambda screen: text in screen, repr(text))

    def write(self, text):
        """Pastes a text: letters that came at once would be taken for a paste anyway, and Enter after them for a line break."""
        self.tmux("set-buffer", "-b", "written", text)
        self.tmux("paste-buffer", "-d", "-p", "-b", "written")

    def run(self, line):
        """Runs a line in the shell."""
        self.write(line)
        self.key("Enter")

    def key(self, *names):
        for name in names:
            self.tmux("send-keys", name)

    def begin(self, *args):
        self.run(shlex.join([self.binary, *args]))
        self.sees(HINT)

    def say(self, text):
        """Sends a message, and waits for the request."""
        n = self.provider.n_requests
        self.write(text)
        self.sees(f"› {text}")
        self.key("Enter")
        self.provider.asked(n + 1)

    def answer(self, text):
        """Ends the answer with this text, and waits until the program shows all of it."""
        self.provider.send(text)
        self.provider.end()
        self.until(lambda screen: "to interrupt)" not in screen and HINT in screen, "the end of the turn")

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def quit(self):
        self.key("C-c")
        self.until(lambda text: text.rstrip().endswith("$"), "the shell")

    def close(self):
        try:
            self.tmux("kill-server")
        except AssertionError:
            pass  # it has ended
        self.provider.http.shutdown()
        shutil.rmtree(self.top, ignore_errors=True)


# ----------------------------------------------------------------------- checks


def lines_of(first, last):
    return "".join(f"row {n:04} of a long answer  \n" for n in range(first, last))


def numbers(text):
    return [int(n) for n in re.findall(r"row (\d{4}) of a long answer", text)]


def same(found, expected, what):
    assert found == expected, f"{what}: {found!r}, not {expected!r}"


def each_once(text, n):
    """Every row of an answer is there once, in order."""
    found = numbers(text)
    missing = sorted(set(range(n)) - set(found))
    twice = sorted({it for it in found if found.count(it) > 1})
    assert not missing and not twice and found == sorted(found), f"missing {missing[:9]}, twice {twice[:9]}, of {n}; {len(found)} rows are there"


def long_answer(pane):
    """A long answer is in the scrollback once, and what was there before it is still there."""
    pane.run("echo before the program")
    pane.begin()
    pane.say("tell me all")
    for first in range(0, 600, 40):
        pane.provider.send(lines_of(first, first + 40))
        pane.sees(f"row {first + 39:04}")
    pane.answer("The end.")
    text = pane.everything()
    each_once(text, 600)
    same([text.count(it) for it in ("\nbefore the program", "› tell me all", "The end.", HINT)], [1, 1, 1, 1], "texts around the answer")


def resized_while_streaming(pane):
    """Twenty changes of the window while an answer arrives: every row once, and a whole composer."""
    pane.begin()
    pane.say("tell me all")
    sizes = [(60, 20), (140, 40), (41, 12), (100, 30), (80, 24)]
    for at in range(20):
        # Not the other way round: what the program wrote for the old size and tmux reads at the new one is not the program's.
        pane.resize(*sizes[at % 5])
        pane.provider.send(lines_of(at * 15, at * 15 + 15))
        pane.sees(f"row {at * 15 + 14:04}")
    pane.resize(100, 30)
    pane.answer("The end.")
    text = pane.everything()
    each_once(text, 300)
    same([text.count(it) for it in ("› tell me all", "The end.", HINT)], [1, 1, 1], "texts around the answer")


def resized_while_idle(pane):
    """Twenty changes of the window while nothing happens: every row once, and one composer."""
    pane.begin()
    pane.say("tell me all")
    pane.answer(lines_of(0, 100) + "The end.")
    for at in range(20):
        columns = (60, 140, 41, 100, 80)[at % 5]
        pane.resize(columns, (20, 40, 12, 30, 24)[at % 5])
        pane.until(lambda _: pane.fact("window_width") == str(columns), "the size")
        pane.write("x")
        pane.until(lambda screen: "› " + "x" * (at + 1) in screen, "the draft")
    text = pane.everything()
    each_once(text, 100)
    same([text.count(it) for it in ("› tell me all", "The end.", "› xxxx", "context left")], [1, 1, 1, 1], "texts around the answer")


def no_rows_from_blanks(pane):
    """A narrower window wraps rows with text, not blanks that were drawn behind them."""
    pane.begin()
    pane.say("short")
    pane.answer("An answer.")
    before = [row for row in pane.everything().splitlines() if row.strip()]
    pane.resize(41, 30)
    pane.until(lambda _: pane.fact("window_width") == "41", "the size")
    pane.write("x")
    pane.sees("› x")
    rows = pane.everything().splitlines()
    at = rows.index("› short")
    same(rows[at : at + 4], ["› short", "", "• An answer.", ""], "the rows of the conversation")
    assert len(before) > 5


CODE = 'fn main() {\n    let text = "a \\"long\\" line that a narrow terminal has to wrap into several rows of its window";\n\n\tprintln!("{text}");\n}\n'
ANSWER = f"Some **words** with `code`:\n\n```rust\n{CODE}```\n\n| a | b |\n|---|---|\n| 1 | 漢字 |\n"


def copied(pane):
    """/copy puts the source of an answer or of its code into the clipboard of tmux, without wraps and indents."""
    pane.resize(50, 24)
    pane.begin()
    pane.say("write code")
    pane.answer(ANSWER)
    for command, expected in (("/copy", ANSWER.strip()), ("/copy 1", CODE)):
        pane.write(command)
        pane.sees(f"› {command}")
        pane.key("Enter")
        pane.until(lambda _: clipboard(pane).strip("\n") == expected.strip("\n"), f"the source in the clipboard after {command}")


def clipboard(pane):
    try:
        return pane.tmux("show-buffer")
    except AssertionError:
        return ""  # nothing was copied yet


def killed(pane):
    """After kill -9 the scrollback is as it was, and the next client has the draft."""
    pane.begin()
    pane.say("tell me all")
    pane.answer(lines_of(0, 60) + "The end.")
    pane.write("half a thought")
    pane.sees("› half a thought")
    drafts = os.path.join(pane.home, "drafts")
    pane.until(lambda _: any("half a thought" in read(os.path.join(drafts, it)) for it in files(drafts)), "the kept draft")
    os.kill(youngest(int(pane.fact("pane_pid"))), signal.SIGKILL)
    pane.sees("Killed")
    each_once(pane.everything(), 60)
    # What the program would have switched off: raw mode, in which Enter is no line end, and brackets around pastes.
    pane.tmux("send-keys", "-l", "stty sane; printf '\\033[?2004l\\033[?1004l'; clear; echo it is $((40 + 2))")
    pane.key("C-j")
    pane.sees("it is 42")
    pane.begin("resume", "--last")
    pane.key("Up")
    pane.sees("› half a thought")
    each_once(pane.everything().rpartition("it is 42")[2], 60)


def files(folder):
    return os.listdir(folder) if os.path.isdir(folder) else []


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def youngest(pid):
    """The last of the processes that a process started, and that those started."""
    children = read(f"/proc/{pid}/task/{pid}/children").split()
    return youngest(int(children[-1])) if children else pid


def suspended(pane):
    """Ctrl-Z gives the shell a usable terminal, and fg brings the draft back."""
    pane.begin()
    pane.say("tell me all")
    pane.answer(lines_of(0, 60) + "The end.")
    pane.write("a draft")
    pane.sees("› a draft")
    pane.key("C-z")
    pane.until(lambda text: text.rstrip().endswith("$"), "the shell")
    pane.run("echo it is $((40 + 2))")
    pane.sees("it is 42")
    pane.run("fg")
    pane.sees("› a draft")
    each_once(pane.everything(), 60)
    pane.key("C-c")
    pane.sees(HINT)
    pane.quit()


def modified_enter(pane):
    """Shift-Enter and Alt-Enter begin a new line, through tmux."""
    pane.begin()
    pane.write("one")
    pane.key("S-Enter")
    pane.write("two")
    pane.key("M-Enter")
    pane.write("three")
    pane.until(lambda screen: re.search(r"^› one\s*\n  two\s*\n  three\s*$", screen, re.M), "three lines")


def given_back(pane):
    """After the end the pane has the main screen, its cursor, no mouse and its title."""
    title = pane.fact("pane_title")
    pane.begin()
    pane.say("short")
    pane.answer("An answer.")
    pane.key("C-t")
    pane.until(lambda _: pane.fact("alternate_on") == "1", "a page")
    pane.key("q")
    pane.until(lambda _: pane.fact("alternate_on") == "0", "the main screen")
    pane.quit()
    names = ["alternate_on", "cursor_flag", "insert_flag", "mouse_any_flag", "scroll_region_upper", "keypad_flag", "wrap_flag"]
    same([pane.fact(name) for name in names], ["0", "1", "0", "0", "0", "0", "1"], ", ".join(names))
    same(pane.fact("pane_title"), title, "the title")
    assert "resume" in pane.screen(), pane.screen()


CHECKS = [long_answer, resized_while_streaming, resized_while_idle, no_rows_from_blanks, copied, killed, suspended, modified_enter, given_back]


def play(check, binary):
    """Why a check does not hold, if it does not."""
    pane = Pane(binary)
    try:
        return check(pane)
    except AssertionError as why:
        return str(why)
    finally:
        pane.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the program")
    parser.add_argument("--match", default="", help="only checks whose names match")
    parser.add_argument("--jobs", type=int, default=3, help="how many programs run at a time")
    args = parser.parse_args()
    if not shutil.which("tmux"):
        print("tmux: skipped, tmux is not installed")
        return
    checks = [check for check in CHECKS if re.search(args.match, check.__name__)]
    began, n_failed = time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for check, why in zip(checks, pool.map(lambda check: play(check, os.path.abspath(args.bin)), checks)):
            if why:
                n_failed += 1
                print(f"{check.__name__}: {why}\n  {check.__doc__}")
    version = subprocess.run(["tmux", "-V"], capture_output=True, text=True).stdout.strip()
    print(f"{len(checks) - n_failed} of {len(checks)} checks hold in {version} ({time.monotonic() - began:.0f} s)")
    sys.exit(1 if n_failed else 0)


if __name__ == "__main__":
    main()
