#!/usr/bin/env python3
"""Every way in which the interactive program can end, in every state that it can be in.

    python3 tui/endings.py --bin target/debug/pellucid [--match REGEX]

Each row of ENDINGS is a state and an end. After each end the terminal must be as before: the main screen, a visible
cursor, no mode and no keyboard level left on, no scroll region, the same line settings; and the exit status must be right.
The model is scripted, or a server on loopback that never ends its answer. Python 3.11 or newer, standard library only.
"""

import argparse
import concurrent.futures
import http.server
import json
import os
import re
import shutil
import signal
import socketserver
import stat
import sys
import tempfile
import termios
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import facts  # noqa: E402
from terminal import Terminal  # noqa: E402

PATIENCE = float(os.environ.get("TUI_PATIENCE", "30"))
GRACE = 0.6  # a question takes no letters in its first moments

SCRIPT = r'''
[[reply]]
contains = ["zrun"]
call = [{ name = "shell_command", args = { command = "echo begun > begun; sleep 600" } }]

[[reply]]
contains = ["zask"]
call = [{ name = "shell_command", args = { command = "touch x", sandbox_permissions = "require_escalated", justification = "to see" } }]

[[reply]]
contains = ["zwait"]
delay_ms = 600000
say = "Never."

[[reply]]
contains = ["zhello"]
say = "Hello to you."
'''

EDITOR = "#!/bin/sh\necho $$ > \"$PELLUCID_HOME/new\"\nmv \"$PELLUCID_HOME/new\" \"$PELLUCID_HOME/editing\"\nexec sleep 600\n"


class Stream:
    """A provider that begins an answer and never ends it."""

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                self.rfile.read(int(self.headers.get("content-length") or 0))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                item = {"type": "message", "role": "assistant", "id": "m1", "content": []}
                events = [{"type": "response.created", "response": {"id": "r1"}},
                          {"type": "response.output_item.added", "output_index": 0, "item": item},
                          {"type": "response.output_text.delta", "item_id": "m1", "output_index": 0, "content_index": 0, "delta": "It begins"}]
                try:
                    for event in events:
                        self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
                    self.wfile.flush()
                    self.connection.recv(1)  # until the program has gone
                except OSError:
                    pass

        class Threads(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

        self.http = Threads(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()


class Run:
    """One program in one terminal, in a folder and a home that belong to it."""

    def __init__(self, binary, port, args=(), trusted=True, script=True, config="", home_of=None, job_control=False, term="xterm-256color"):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="endings-"))
        self.home, self.work = os.path.join(self.top, "home"), os.path.join(self.top, "work")
        if home_of:
            shutil.copytree(home_of.home, self.home)
            self.work = home_of.work
        os.makedirs(self.home, exist_ok=True)
        os.makedirs(self.work, exist_ok=True)
        editor = os.path.join(self.top, "editor")
        with open(editor, "w") as f:
            f.write(EDITOR)
        os.chmod(editor, os.stat(editor).st_mode | stat.S_IXUSR)
        with open(os.path.join(self.top, "script.toml"), "w") as f:
            f.write(SCRIPT)
        text = config.replace("PORT", str(port))
        if trusted:
            text += f'\n[projects."{self.work}"]\ntrust_level = "trusted"\n'
        with open(os.path.join(self.home, "config.toml"), "w") as f:
            f.write(text)
        env = {"HOME": self.top, "PATH": os.environ["PATH"], "TERM": term, "LANG": "C.UTF-8", "PELLUCID_HOME": self.home,
               "EDITOR": editor}
        script_args = ["--script", os.path.join(self.top, "script.toml")] if script else []
        self.t = Terminal([binary, *args, *script_args], self.work, env, 80, 24, job_control=job_control)
        self.lines_before = self.t.before

    def until(self, test, what):
        if not self.t.wait(test, PATIENCE):
            raise AssertionError(f"waited for {what}; the screen:\n" + "\n".join(self.t.screen.everything()[-24:]))

    def sees(self, text):
        self.until(lambda screen: text in "\n".join(screen.lines()), repr(text))

    def exists(self, path):
        self.until(lambda _: os.path.exists(path), path)

    def key(self, *names):
        for name in names:
            self.t.send(self.t.key(name))
            time.sleep(0.02)

    def write(self, text):
        for char in text:
            self.t.send(char.encode())
            time.sleep(0.01)

    def say(self, text):
        """Writes a line into the composer and sends it."""
        self.write(text)
        self.until(lambda screen: text in (facts.composer(screen) or ""), f"{text!r} in the composer")
        time.sleep(0.05)
        self.key("enter")

    def close(self):
        self.t.close()
        shutil.rmtree(self.top, ignore_errors=True)


# ------------------------------------------------------------------------ states

SIGN_IN = ""
SLOW = 'model_provider = "slow"\n[model_providers.slow]\nname = "Slow"\nbase_url = "http://127.0.0.1:PORT/v1"\nwire_api = "responses"\n'


def idle(make, **how):
    run = make(**how)
    run.sees("Ask anything")
    return run


def after(text, seen=None, exists=None, **how):
    """A state that a message leads to."""
    def reach(make, **more):
        run = idle(make, **how, **more)
        run.say(text)
        if seen:
            run.sees(seen)
        if exists:
            run.exists(os.path.join(run.work, exists))
        return run
    return reach


def approval(make, **more):
    run = after("zask", "No, and")(make, **more)
    time.sleep(GRACE)
    return run


def in_approval(key, seen):
    def reach(make, **more):
        run = approval(make, **more)
        run.key(key)
        run.sees(seen)
        return run
    return reach


def page(make, **more):
    run = idle(make, **more)
    run.key("ctrl-t")
    run.until(lambda screen: screen.alternate, "a page")
    return run


def rows(make, **more):
    run = idle(make, **more)
    run.key("ctrl-o")
    run.sees("next request")
    return run


def menu(make, **more):
    run = idle(make, **more)
    run.say("/permissions")
    run.sees("without a question?")
    return run


def draft(make, **more):
    run = idle(make, **more)
    run.write("half a thought")
    run.sees("half a thought")
    return run


def editor(make, **more):
    run = draft(make, **more)
    run.key("ctrl-g")
    run.exists(os.path.join(run.home, "editing"))
    return run


def mouse(make, **more):
    return idle(make, config="[tui]\nmouse = true\n", **more)


def trust(make, **more):
    run = make(trusted=False, **more)
    run.sees("Do you trust")
    return run


def sign_in(make, **more):
    run = make(script=False, config=SIGN_IN, **more)
    run.sees("Sign in to use")
    return run


def key_field(make, **more):
    run = sign_in(make, **more)
    run.key("3")
    run.sees("it is not shown")
    return run


def picker(command):
    def reach(make, stored=None, **more):
        run = make(args=[command], home_of=stored, **more)
        run.sees("an earlier session")
        return run
    return reach


def stopped(make, **more):
    run = idle(make, job_control=True, **more)
    run.key("ctrl-z")
    run.until(lambda _: run.t.stopped(), "the program to stop")
    return run


def back(make, **more):
    run = stopped(make, **more)
    run.t.go_on()
    run.sees("Ask anything")
    return run


def spoken(make, **more):
    run = make(args=["--screen-reader"], **more)
    run.sees("folder ~/work.")
    return run


def dumb(make, **more):
    run = make(term="dumb", **more)
    run.sees("[y/N]")
    return run


def dumb_and_drawn(make, **more):
    run = dumb(make, **more)
    run.write("y\r")
    run.sees("Ask anything")
    return run


def broken_config(make, **more):
    return make(config="model = [", **more)


def missing_session(make, **more):
    return make(args=["resume", "00000000-0000-7000-8000-000000000000"], **more)


STATES = {
    "idle": idle, "draft": draft, "menu": menu, "mouse": mouse, "approval": approval,
    "edited command": in_approval("e", "ask for instead"), "note": in_approval("tab", "A note for"), "explanation": in_approval("?", "Why you are asked"),
    "waiting": after("zwait", "esc to interrupt"), "streaming": after("hello", "It begins", script=False, config=SLOW),
    "command": after("zrun", exists="begun"), "transcript": page, "context": rows,
    "editor": editor, "stopped": stopped, "continued": back, "screen reader": spoken,
    "trust": trust, "sign-in": sign_in, "key": key_field, "resume list": picker("resume"), "fork list": picker("fork"),
    "dumb terminal": dumb, "dumb terminal after yes": dumb_and_drawn, "broken configuration": broken_config, "missing session": missing_session,
}

# ------------------------------------------------------------------------- ends


def keys(*names):
    def end(run):
        run.key(*names)
    return end


def interrupted(run):
    """The second key is meant for the program, so it comes when the turn is over."""
    run.key("ctrl-c")
    run.sees("The turn was interrupted")
    run.key("ctrl-c")


def line_of(text):
    def end(run):
        run.write(text + "\r")
    return end


def line(text):
    def end(run):
        run.say(text)
    return end


def sent(name):
    def end(run):
        run.t.signal(name)
    return end


def sent_while_editing(run):
    """The program waits for the editor, which has the terminal, and ends after it."""
    run.t.signal("TERM")
    with open(os.path.join(run.home, "editing")) as f:
        os.kill(int(f.read()), signal.SIGTERM)


def nothing(_run):
    pass


# state, end, what it is called, exit status
SIGNALS = {"TERM": 143, "HUP": 129, "INT": 130, "QUIT": 131}
ENDINGS = [
    ("idle", keys("ctrl-c"), "ctrl-c", 0), ("idle", keys("ctrl-d"), "ctrl-d", 0), ("idle", line("/quit"), "/quit", 0), ("idle", line("/exit"), "/exit", 0),
    ("draft", keys("ctrl-c", "ctrl-c"), "ctrl-c twice", 0), ("menu", keys("esc", "ctrl-c"), "esc, ctrl-c", 0),
    ("streaming", interrupted, "ctrl-c twice", 0), ("command", interrupted, "ctrl-c twice", 0), ("approval", interrupted, "ctrl-c twice", 0), ("transcript", keys("q", "ctrl-c"), "q, ctrl-c", 0),
    ("continued", keys("ctrl-c"), "ctrl-c", 0), ("screen reader", line_of("/quit"), "/quit", 0), ("screen reader", sent("TERM"), "SIGTERM", 143),
    ("editor", sent_while_editing, "SIGTERM, then the end of the editor", 143), ("trust", keys("n"), "n", 0), ("trust", keys("ctrl-c"), "ctrl-c", 0), ("trust", keys("ctrl-d"), "ctrl-d", 0),
    ("sign-in", keys("ctrl-c"), "ctrl-c", 0), ("resume list", keys("ctrl-c"), "ctrl-c", 0), ("fork list", keys("ctrl-c"), "ctrl-c", 0),
    ("dumb terminal", keys("enter"), "enter", 1), ("dumb terminal", line_of("no"), "no", 1), ("dumb terminal after yes", keys("ctrl-c"), "ctrl-c", 0),
    ("broken configuration", nothing, "at once", 1), ("missing session", nothing, "at once", 1),
    *((state, sent(name), f"SIG{name}", status) for name, status in SIGNALS.items()
      for state in ("idle", "draft", "streaming", "transcript", "approval", "command", "trust", "resume list")),
    *((state, sent("TERM"), "SIGTERM", 143) for state in
      ("menu", "mouse", "edited command", "note", "explanation", "waiting", "context", "continued", "sign-in", "key", "fork list")),
]

# The terminal is gone, so only the exit status can be looked at.
GONE = ["idle", "draft", "streaming", "command", "approval", "transcript", "trust", "resume list"]


def problems(run, status, is_gone):
    found = []
    if run.t.status is None:
        return ["the program runs on; the screen:\n" + "\n".join(run.t.screen.everything()[-24:])]
    if run.t.status != status:
        found.append(f"exit status {run.t.status}, not {status}; the screen:\n" + "\n".join(run.t.screen.everything()[-10:]))
    if is_gone:
        return found
    state = facts.at_exit(run.t.screen, run.t.line_settings())
    good = {"alternate": False, "cursor_visible": True, "modes_left_on": [], "keyboard_levels_left": 0, "scroll_region": False}
    found += [f"{name} is {state[name]}" for name, value in good.items() if state[name] != value]
    if termios.tcgetattr(run.t.slave) != run.lines_before:
        found.append(f"the line settings differ: {state['line_settings']}")
    return found


def play(binary, port, stored, state, end, status, is_gone=False):
    runs = []

    def make(**how):
        runs.append(Run(binary, port, **how))
        return runs[-1]
    try:
        reach = STATES[state]
        run = reach(make, stored=stored) if "list" in state else reach(make)
        if is_gone:
            # The numbers stay in use, because the reader of this terminal would read another one that gets them.
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (run.t.slave, run.t.master):
                os.dup2(null, fd)
            os.close(null)
        else:
            end(run)
        run.t.wait_exit(PATIENCE)
        return problems(run, status, is_gone)
    except AssertionError as why:
        return [str(why)]
    finally:
        for run in runs:
            run.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the program")
    parser.add_argument("--match", default="", help="only endings whose names match")
    parser.add_argument("--jobs", type=int, default=4, help="how many programs run at a time")
    args = parser.parse_args()
    binary, port = os.path.abspath(args.bin), Stream().port
    stored = Run(binary, port)  # a session for the lists
    stored.sees("Ask anything")
    stored.say("zhello")
    stored.sees("Hello to you.")
    stored.until(lambda screen: not facts.working(screen), "the end of the turn")
    stored.key("ctrl-c")
    stored.t.wait_exit(PATIENCE)
    table = [(f"{state}: {name}", state, end, status, False) for state, end, name, status in ENDINGS]
    table += [(f"{state}: the terminal is closed", state, nothing, 129, True) for state in GONE]
    table = [row for row in table if re.search(args.match, row[0])]
    began, failed = time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = [(name, pool.submit(play, binary, port, stored, state, end, status, gone)) for name, state, end, status, gone in table]
        for name, future in futures:
            found = future.result()
            failed += bool(found)
            for problem in found:
                print(f"{name}: {problem}")
    stored.close()
    print(f"{len(table) - failed} of {len(table)} endings leave the terminal as it was ({time.monotonic() - began:.0f} s)")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
