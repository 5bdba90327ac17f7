#!/usr/bin/env python3
"""The page of `inspect` on a long session: what its server answers, and how soon.

page.py --bin NAME=PATH [--bin ...] [--requests 1000] [--repeat 5] [--keep FOLDER] [--cpu]

Makes a session with the first binary and its scripted model: turns of commands with
outputs of 15 kB, each turn ended by a summary, so that no request is much larger than
15 MB. Prints for each binary the median of REPEAT runs, in milliseconds, of what
`docs/inspector.md` calls an answer; "first" is a server that has just started and finds
no index, "second server" one that finds the index. With
--keep the session stays in FOLDER and is used again. With --cpu the CPU time of the server
is printed in place of the time that passed, for a machine that does other work too.
"""
import argparse, http.client, json, os, pathlib, re, shutil, statistics, subprocess, sys, tempfile, time
import common

SESSION = "019a9000-5555-7000-8000-000000000005"
OUTPUT = 15000
CALLS = 7
LARGEST = 15_000_000


def script(path, calls, needle):
    """Answers that each ask for some commands, and a last one that says something."""
    lines = []
    for n in range(calls):
        commands = ", ".join(f'{{ name = "exec_command", args = {{ cmd = "tail -c +{(n * CALLS + k) * 97 % 900000 + 1} words | head -c {OUTPUT}" }} }}' for k in range(CALLS))
        lines.append(f"[[reply]]\ncall = [{commands}]\nusage = {{ input = {1000 + n}, cached = {900 + n}, output = 40 }}\n")
    lines.append(f'[[reply]]\nsay = "{needle}"\nusage = {{ input = 9000, cached = 8000, output = 40 }}\n')
    path.write_text("\n".join(lines))


def make(binary, folder, requests):
    home, work = folder / "home", folder / "work"
    home.mkdir(parents=True)
    work.mkdir()
    words = "".join(f"line {n} of a file with \"quotes\" and a tab\there\n" for n in range(25000))
    (work / "words").write_text(words[:1_000_000])
    # Commands run in a login shell, and a profile of the machine is not what is measured.
    env = {**os.environ, "HOME": str(work), "PELLUCID_HOME": str(home), "NO_COLOR": "1"}
    turn = max(1, min(requests, LARGEST // (CALLS * OUTPUT)))
    turns = max(1, -(-requests // (turn + 2)))

    def run(*args):
        ran = subprocess.run([binary, *args], cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True)
        if ran.returncode:
            raise SystemExit(f"{args}: {ran.stderr.decode()[-2000:]}")

    for n in range(turns):
        script(folder / "script.toml", turn, "the needle is here" if n == turns // 2 else "done")
        which = ["--session-id", SESSION] if n == 0 else ["resume", SESSION]
        turn_args = ["exec", "--script", str(folder / "script.toml"), "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", "-m", "gpt-5.2-codex", "-c", "model_context_window=100000000", "-c", "model_auto_compact_token_limit=100000000"]
        run(*turn_args, *which, "go on")
        (folder / "summary.toml").write_text('[[reply]]\nsay = "a summary"\nusage = { input = 9000, cached = 8000, output = 40 }\n')
        run("compact", "--script", str(folder / "summary.toml"), "-m", "gpt-5.2-codex", SESSION)
    return home


class Server:
    """An `inspect` that is asked over one connection."""

    by_cpu = False

    def __init__(self, binary, home, cwd):
        self.taken = {}
        began = time.perf_counter()
        env = {**os.environ, "PELLUCID_HOME": str(home)}
        self.child = subprocess.Popen([binary, "inspect"], cwd=cwd, env=env, stdout=subprocess.PIPE, text=True)
        line = self.child.stdout.readline()
        self.started = time.perf_counter() - began
        host, code = re.match(r"http://([^/]+)(/\?code=\w+)", line).groups()
        self.connection = http.client.HTTPConnection(host)
        self.connection.request("GET", code)
        answer = self.connection.getresponse()
        answer.read()
        self.cookie = {"Cookie": answer.getheader("Set-Cookie").split(";")[0]}

    def clock(self):
        """Seconds: of CPU that the threads of the server took, or that passed."""
        if not self.by_cpu:
            return time.perf_counter()
        for thread in pathlib.Path(f"/proc/{self.child.pid}/task").glob("*/schedstat"):
            try:
                self.taken[thread] = int(thread.read_text().split()[0])
            except OSError:
                pass
        # A thread that has ended has taken what it had.
        return sum(self.taken.values()) / 1e9

    def get(self, path):
        began = self.clock()
        for attempt in range(2):
            try:
                self.connection.request("GET", "/api/v1/" + path, headers=self.cookie)
                answer = self.connection.getresponse()
                body = answer.read()
                break
            except (http.client.HTTPException, ConnectionError):
                # The server closes a connection that is not used for a while.
                self.connection.close()
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {body[:300]}")
        return self.clock() - began, body

    def memory(self):
        status = pathlib.Path(f"/proc/{self.child.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024

    def close(self):
        self.child.kill()
        self.child.wait()


def timeline(server):
    spent, at = server.get(f"sessions/{SESSION}")[0], 1
    while at:
        took, body = server.get(f"sessions/{SESSION}/timeline?from={at}&count=500")
        spent, at = spent + took, json.loads(body)["next"]
    return spent


def measure(binary, folder, last):
    """One run: seconds by what was done."""
    home, work = folder / "home", folder / "work"
    shutil.rmtree(home / "inspect", ignore_errors=True)
    found = {}
    server = Server(binary, home, work)
    try:
        found["`inspect` to a printed URL"] = server.started
        found["timeline complete, first"] = timeline(server)
        found["timeline complete, again"] = timeline(server)
        found[f"rebuild request {last} of the session, first"] = server.get(f"sessions/{SESSION}/requests/{last}")[0]
        found["a neighbour of it"] = server.get(f"sessions/{SESSION}/requests/{last - 1}")[0]
        found["rows of 200, 95th of 20"] = sorted(server.get(f"sessions/{SESSION}/requests/{last - 1}/rows?from={n * 50}&count=200")[0] for n in range(20))[18]
        found["text, 95th of 20"] = sorted(server.get(f"sessions/{SESSION}/requests/{last - 1}/text?from={n * 40}")[0] for n in range(20))[18]
        found["items, first"] = server.get(f"sessions/{SESSION}/items?count=200")[0]
        found["items, 95th of 20"] = sorted(server.get(f"sessions/{SESSION}/items?from={n * 100}&count=200")[0] for n in range(20))[18]
        found[f"diff of requests {last - 1} and {last}"] = server.get(f"diff?a={SESSION}%23{last - 1}&b={SESSION}%23{last}")[0]
        found["search in the session"] = server.get(f"search?q=the+needle+is&fixed=true&session={SESSION}")[0]
        found["memory of the server, MB"] = server.memory() / 1000
    finally:
        server.close()
    return {**found, **measure_again(binary, home, work, last)}


def measure_again(binary, home, work, last):
    """What a second server answers, which finds what the first one has left."""
    server = Server(binary, home, work)
    try:
        found = {"timeline complete, second server": timeline(server)}
        found["items, second server"] = server.get(f"sessions/{SESSION}/items?count=200")[0]
        found[f"rebuild request {last // 2}, second server"] = server.get(f"sessions/{SESSION}/requests/{last // 2}")[0]
        return found
    finally:
        server.close()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", action="append", required=True)
    p.add_argument("--requests", type=int, default=1000)
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--keep")
    p.add_argument("--cpu", action="store_true")
    p.add_argument("--json", help="write the figures here")
    a = p.parse_args()
    common.loopback_only()
    figures = common.Figures("page")
    Server.by_cpu = a.cpu
    bins = common.bins(a.bin)
    folder = pathlib.Path(a.keep) if a.keep else pathlib.Path(tempfile.mkdtemp(prefix="page-", dir=common.scratch()))
    try:
        if not (folder / "home").exists():
            make(bins[0][1], folder, a.requests)
        files = [f for f in folder.rglob("*.jsonl")]
        print("session: " + ", ".join(f"{f.parent.relative_to(folder).parts[1]} {f.stat().st_size / 1e6:.1f} MB" for f in files if f.stat().st_size > 1e5))
        for name, binary in bins:
            server = Server(binary, folder / "home", folder / "work")
            counts = json.loads(server.get(f"sessions/{SESSION}")[1])["counts"]
            sizes = json.loads(server.get(f"sessions/{SESSION}/timeline?from={max(1, counts['requests'] - 499)}&count=500")[1])["bytes"]
            server.close()
            # The largest request is the last answer before the last summary.
            last = max(range(len(sizes)), key=lambda n: sizes[n]) + max(1, counts["requests"] - 499)
            print(f"{name}: {counts['requests']} requests, {counts['items']} items, the largest (#{last}) of {max(sizes) / 1e6:.1f} MB")
            runs = [measure(binary, folder, last) for _ in range(a.repeat)]
            for what in runs[0]:
                middle = statistics.median(run[what] for run in runs)
                is_memory = what.startswith("memory")
                figures.add(name, what, middle * (1000 if is_memory else 1), "MB" if is_memory else "s", requests=a.requests)
                print(f"  {what:<44} {1000 * middle:>9.1f}")
        figures.write(a.json)
    finally:
        if not a.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
