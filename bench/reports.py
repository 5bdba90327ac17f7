#!/usr/bin/env python3
"""What reports about one large session cost: `context --session`, `sessions show`, `replay`.

reports.py --bin NAME=PATH [--bin ...] [--size 100] [--repeat 3] [--only live,compacted]

Two sessions of SIZE MB are made: one whose whole history is sent with the next request (`live`), and one with a
compaction every 2 MB (`compacted`). For each command: wall, CPU and peak memory of the whole process, the best of
REPEAT runs. Use binaries of a release build: figures of a debug build say nothing.
"""
import argparse, shutil, sys, tempfile
import common, rollouts

COMMANDS = {
    "context": ["context", "--session", "ID", "next"],
    "context -v": ["context", "-v", "--session", "ID", "next"],
    "context -vv": ["context", "-vv", "--session", "ID", "next"],
    "context --json": ["context", "--json", "--session", "ID", "next"],
    "sessions show": ["sessions", "show", "ID"],
    "sessions show --json": ["sessions", "show", "--json", "ID"],
    "sessions list": ["sessions", "list"],
}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", action="append", required=True)
    p.add_argument("--template", help="binary that writes the template rollout (default: the first --bin)")
    p.add_argument("--size", type=float, default=100, help="MB")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--only", default="live,compacted")
    a = p.parse_args()
    common.loopback_only()
    bins = common.bins(a.bin)
    tmp = tempfile.mkdtemp(prefix="reports-", dir=common.scratch())
    try:
        lines = rollouts.template(a.template or bins[0][1], tmp)
        work = f"{tmp}/work"
        common.repo(work)
        for kind, every in (("live", None), ("compacted", 2_000_000)):
            if kind not in a.only.split(","):
                continue
            home = f"{tmp}/{kind}"
            _, ident, _ = rollouts.grow(lines, home, int(a.size * 1e6), work, every)
            common.codex_config(home, 9)
            for title, words in COMMANDS.items():
                for name, path in bins:
                    best = {}
                    for _ in range(a.repeat):
                        argv = [path, *(ident if w == "ID" else w for w in words)]
                        r = common.run(argv, env=common.codex_env(home), cwd=work)
                        if r["rc"] != 0:
                            raise SystemExit(f"{title}: {r['err'][-500:]!r}")
                        common.keep(best, title, r, by="wall")
                    r = best[title]
                    print(f"{kind:10s} {title:22s} {name:12s} {r['wall'] * 1000:8.0f} ms wall {r['cpu'] * 1000:8.0f} ms cpu {r['rss_mb']:8.1f} MB")
                    sys.stdout.flush()
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


if __name__ == "__main__":
    main()
