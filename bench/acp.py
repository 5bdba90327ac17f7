#!/usr/bin/env python3
"""An agent of the Agent Client Protocol: from its start to the answer to `initialize`, and the load of a large session.

acp.py --bin PATH [--starts 50] [--size 100] [--json FILE]

Cases:
  start   least and median of so many starts, from the start of the process to the answer
  load S  a session of S MB, all of it shown: to the first update and to the answer, with the peak memory: while updates
          are sent, and with the session open, whose history is in memory
The client reads what is sent as it comes, and keeps nothing of it.
"""
import argparse, json, shutil, statistics, subprocess, sys, tempfile, time
import common, rollouts


class Agent:
    def __init__(self, path, home, cwd):
        self.began = time.monotonic()
        self.child = subprocess.Popen([path, "acp"], env=common.codex_env(home), cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def send(self, method, params, number):
        line = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.child.stdin.write(json.dumps(line).encode() + b"\n")
        self.child.stdin.flush()

    def lines(self):
        yield from self.child.stdout

    def hello(self):
        """Seconds from the start of the process to the answer."""
        self.send("initialize", {"protocolVersion": 1, "clientCapabilities": {}}, 0)
        line = self.child.stdout.readline()
        took = time.monotonic() - self.began
        if json.loads(line or b"{}").get("id") != 0:
            raise common.Failed(f"initialize was answered with {line[:200]!r}")
        return took

    def end(self):
        self.child.stdin.close()
        self.child.stdout.read()
        self.child.wait()


def load(path, home, cwd, ident):
    agent = Agent(path, home, cwd)
    agent.hello()
    began = time.monotonic()
    agent.send("session/load", {"sessionId": ident, "cwd": cwd, "mcpServers": []}, 1)
    first, n_bytes, n_updates, showing = None, 0, 0, 0
    for line in agent.lines():
        n_bytes += len(line)
        # The answer is the one line that begins with its id.
        if b'"session/update"' in line[:200]:
            n_updates += 1
            first = first or time.monotonic() - began
            if n_updates % 1000 == 0:
                showing = common.memory(agent.child.pid)[1] / 1024
        elif json.loads(line).get("id") == 1:
            row = {"first": first, "whole": time.monotonic() - began, "showing_mb": showing, "peak_mb": common.memory(agent.child.pid)[1] / 1024, "updates": n_updates, "sent_mb": n_bytes / 1e6}
            agent.end()
            return row
    raise common.Failed("the agent ended during the load")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", required=True)
    p.add_argument("--starts", type=int, default=50)
    p.add_argument("--size", type=float, default=100, help="MB")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--json", help="write the figures here")
    a = p.parse_args()
    common.loopback_only()
    tmp = tempfile.mkdtemp(prefix="acp-", dir=common.scratch())
    figures = common.Figures("acp")
    try:
        work, home = f"{tmp}/work", f"{tmp}/home"
        common.repo(work)
        lines = rollouts.template(a.bin, tmp)
        _, ident, _ = rollouts.grow(lines, home, int(a.size * 1e6), work)
        with common.Mock() as mock:
            common.codex_config(home, mock.port)
            starts = []
            for _ in range(a.starts):
                agent = Agent(a.bin, home, work)
                starts.append(agent.hello())
                agent.end()
            print(f"start       least {min(starts) * 1000:6.1f} ms   median {statistics.median(starts) * 1000:6.1f} ms   of {a.starts}")
            figures.add("pellucid", "start to initialize, least", min(starts), "s")
            figures.add("pellucid", "start to initialize, median", statistics.median(starts), "s")
            rows = [load(a.bin, home, work, ident) for _ in range(a.repeat)]
        best = min(rows, key=lambda row: row["first"])
        print(f"load {a.size:4g} MB first {best['first'] * 1000:6.0f} ms   whole {best['whole'] * 1000:6.0f} ms   peak {best['showing_mb']:.0f} MB while updates are sent, {best['peak_mb']:.0f} MB with the session open   {best['updates']} updates, {best['sent_mb']:.0f} MB")
        for metric, key, unit in (("load, to the first update", "first", "s"), ("load, to the answer", "whole", "s"), ("load, peak memory while updates are sent", "showing_mb", "MB"), ("load, peak memory", "peak_mb", "MB")):
            figures.add("pellucid", metric, best[key], unit, size=a.size)
        figures.write(a.json)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
