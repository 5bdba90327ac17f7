#!/usr/bin/env python3
"""The page of `inspect` in a browser: paints, frames, memory, and what following costs a session.

browser.py --bin NAME=PATH [--requests 1000] [--repeat 5] [--keep FOLDER] [--calls 200]

The session is that of `page.py`. "Following" is a page of another process, open on the session
while it runs a turn of CALLS calls; "--inspect" is a page that the process of the session serves
itself. CPU is user and system time of the process that runs the turn. Needs node, Chromium and
the modules that `cargo xtask inspector` installs (INSPECTOR_MODULES names their folder).
"""
import argparse, json, os, pathlib, shutil, statistics, subprocess, tempfile, time
import common, page

HERE = pathlib.Path(__file__).parent
LIVE = "019a9000-6666-7000-8000-000000000006"


def node(*words, **more):
    more.setdefault("env", {"INSPECTOR_MODULES": str(HERE.parent / "target" / "inspector"), **os.environ})
    return subprocess.Popen(["node", str(HERE / "browser.mjs"), *map(str, words)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, **more)


def asked(*words):
    child = node(*words)
    out, _ = child.communicate()
    if child.returncode:
        raise SystemExit(f"{words}: the browser failed")
    return json.loads(out)


class Address:
    """An `inspect` whose printed address a browser opens."""

    def __init__(self, binary, folder):
        env = {**os.environ, "PELLUCID_HOME": str(folder / "home")}
        self.child = subprocess.Popen([binary, "inspect"], cwd=folder / "work", env=env, stdout=subprocess.PIPE, text=True)
        self.url = self.child.stdout.readline().strip()

    def close(self):
        self.child.kill()
        self.child.wait()


def paint(binary, folder, has_index):
    if not has_index:
        shutil.rmtree(folder / "home" / "inspect", ignore_errors=True)
    server = Address(binary, folder)
    try:
        return asked("paint", server.url, f"#/s/{page.SESSION}")
    finally:
        server.close()


def frames(binary, folder, last):
    server = Address(binary, folder)
    try:
        return asked("frames", server.url, page.SESSION, last)
    finally:
        server.close()


def turn(binary, folder, calls, how):
    """CPU seconds a request of a turn with so many calls; `how` is None, "following" or "--inspect"."""
    live = folder / "live"
    shutil.rmtree(live, ignore_errors=True)
    (live / "home").mkdir(parents=True)
    (live / "work").mkdir()
    env = {**os.environ, "HOME": str(live / "work"), "PELLUCID_HOME": str(live / "home"), "NO_COLOR": "1"}
    script = live / "script.toml"
    one = '[[reply]]\ncall = [{ name = "update_plan", args = { plan = [{ step = "one", status = "pending" }] } }]\nusage = { input = 1000, cached = 900, output = 40 }\n'
    words = [binary, "exec", "--script", str(script), "--skip-git-repo-check", "-m", "gpt-5.2-codex"]

    def run(calls, more, started=lambda child: None):
        script.write_text(one * calls + '[[reply]]\nsay = "done"\nusage = { input = 1000, cached = 900, output = 40 }\n')
        child = subprocess.Popen(words + more, cwd=live / "work", env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        beside = started(child)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = status
        if status:
            raise SystemExit(f"the turn failed: {child.stderr.read()[-2000:]}")
        return usage.ru_utime + usage.ru_stime, beside

    run(2, ["--session-id", LIVE, "begin"])
    browser, server = None, None
    if how == "following":
        server = Address(binary, live)
        browser = node("follow", server.url, f"#/s/{LIVE}")
        browser.stdout.readline()
    try:
        if how == "--inspect":
            def open_page(child):
                url = next(word for line in child.stderr for word in line.split() if word.startswith("http://"))
                return node("follow", url, f"#/s/{LIVE}")
            spent, browser = run(calls, ["--inspect", "resume", LIVE, "go on"], open_page)
        else:
            spent, _ = run(calls, ["resume", LIVE, "go on"])
        return spent / (calls + 1)
    finally:
        for child in filter(None, [browser, server and server.child]):
            child.kill()
            child.wait()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", action="append", required=True)
    p.add_argument("--requests", type=int, default=1000)
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--keep")
    p.add_argument("--calls", type=int, default=200)
    p.add_argument("--json", help="write the figures here")
    a = p.parse_args()
    figures = common.Figures("browser")
    folder = pathlib.Path(a.keep) if a.keep else pathlib.Path(tempfile.mkdtemp(prefix="page-", dir=common.scratch()))
    try:
        bins = common.bins(a.bin)
        if not (folder / "home").exists():
            page.make(bins[0][1], folder, a.requests)
        for name, binary in bins:
            print(f"{name}:")
            middle = lambda values: statistics.median(values)
            for what, has_index in [("first time", False), ("again", True)]:
                runs = [paint(binary, folder, has_index) for _ in range(a.repeat)]
                for metric, key in (("first paint", "paint"), ("timeline complete", "complete")):
                    figures.add(name, metric, middle(r[key] for r in runs) / 1000, "s", what=what)
                print(f"  address to first paint / timeline complete, {what:<12} {middle(r['paint'] for r in runs):>6.0f} / {middle(r['complete'] for r in runs):.0f} ms")
            runs = [frames(binary, folder, a.requests) for _ in range(max(1, a.repeat // 2))]
            for what in [it for it in runs[0] if it != "memory"]:
                for metric, at in (("frame", 0), ("frame, 95th", 1)):
                    figures.add(name, metric, middle(r[what][at] for r in runs) / 1000, "s", what=what)
                print(f"  {what:<56} {middle(r[what][0] for r in runs):>6.1f} / {middle(r[what][1] for r in runs):.1f} ms a frame, median / 95th")
            print(f"  {'memory of the page':<56} {max(r['memory'] for r in runs):>6.0f} MB")
            figures.add(name, "memory of the page", max(r["memory"] for r in runs), "MB")
            ways = [None, "following", "--inspect"]
            spent = {how: [] for how in ways}
            for _ in range(a.repeat * 2 + 1):
                for how in ways:
                    spent[how].append(turn(binary, folder, a.calls, how))
            alone = middle(spent[None])
            for how in ways:
                least, mid = min(spent[how]), middle(spent[how])
                figures.add(name, "request, cpu", mid, "s", what=how or "no page")
                print(f"  CPU a request, {how or 'no page':<41} {1000 * mid:>6.3f} ms ({100 * (mid / alone - 1):+.1f} %), least {1000 * least:.3f}")
        figures.write(a.json)
    finally:
        if not a.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
