#!/usr/bin/env python3
"""What reports about one large session cost: `context --session`, `sessions show`, `context check`.

reports.py --bin NAME=PATH [--bin ...] [--size 100] [--repeat 3] [--only live,compacted,sent]

Three sessions of SIZE MB are made: one whose whole history is sent with the next request (`live`), one with a
compaction every 2 MB (`compacted`), and one that the first binary sent itself in CALLS requests, each with the whole
history, so that it has a record of them (`sent`). `context check` is of the project, which has a small lock. For each
command: wall, CPU and peak memory of the whole process, the best of
REPEAT runs. Use binaries of a release build: figures of a debug build say nothing.
"""
import argparse, pathlib, shutil, sys, tempfile
import common, rollouts

COMMANDS = {
    "context": ["context", "--session", "ID", "next"],
    "context -v": ["context", "-v", "--session", "ID", "next"],
    "context -vv": ["context", "-vv", "--session", "ID", "next"],
    "context --json": ["context", "--json", "--session", "ID", "next"],
    "sessions show": ["sessions", "show", "ID"],
    "sessions show --json": ["sessions", "show", "--json", "ID"],
    "sessions list": ["sessions", "list"],
    "context check": ["context", "check"],
}
SENT = {"context of the last": ["context", "ID"]}


def sent(binary, home, work, size, calls):
    """The id of a session of SIZE bytes that BINARY sends to the mock in CALLS requests, each larger than the one before."""
    with common.Mock("--calls", calls, "--pad", size // calls) as mock:
        common.codex_config(home, mock.port)
        # No model has such a window; with a true one the session would be refused or made shorter.
        wide = [f"-c{key}=1000000000" for key in ("model_context_window", "model_auto_compact_token_limit")]
        words = [binary, "exec", *wide, "--skip-git-repo-check", "Long task"]
        r = common.run(words, env=common.codex_env(home), cwd=work)
    found = sorted(pathlib.Path(home, "sessions").rglob("*.jsonl"))
    if r["rc"] != 0 or len(found) != 1:
        raise SystemExit(f"{binary}: no session: {r['err'][-500:]!r}")
    return found[0].stem[-36:]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", action="append", required=True)
    p.add_argument("--template", help="binary that writes the template rollout (default: the first --bin)")
    p.add_argument("--size", type=float, default=100, help="MB")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--calls", type=int, default=50, help="requests of the session `sent`")
    p.add_argument("--only", default="live,compacted,sent")
    p.add_argument("--json", help="write the figures here")
    a = p.parse_args()
    figures = common.Figures("reports")
    common.loopback_only()
    bins = common.bins(a.bin)
    tmp = tempfile.mkdtemp(prefix="reports-", dir=common.scratch())
    try:
        lines = rollouts.template(a.template or bins[0][1], tmp)
        work = f"{tmp}/work"
        common.repo(work)
        locked = common.run([bins[0][1], "context", "lock"], env=common.codex_env(f"{tmp}/tpl-home"), cwd=work)
        if locked["rc"] != 0:
            raise SystemExit(f"context lock: {locked['err'][-500:]!r}")
        for kind in a.only.split(","):
            home, size = f"{tmp}/{kind}", int(a.size * 1e6)
            if kind == "sent":
                ident = sent(bins[0][1], home, work, size, a.calls)
            else:
                _, ident, _ = rollouts.grow(lines, home, size, work, 2_000_000 if kind == "compacted" else None)
            common.codex_config(home, 9)
            for title, words in (COMMANDS | (SENT if kind == "sent" else {})).items():
                for name, path in bins:
                    best = {}
                    for _ in range(a.repeat):
                        argv = [path, *(w.replace("ID", ident) for w in words)]
                        r = common.run(argv, env=common.codex_env(home), cwd=work)
                        if r["rc"] != 0:
                            figures.failed(name, r["err"][-500:].decode(errors="replace"), what=title, kind=kind, size=a.size)
                            break
                        common.keep(best, title, r, by="wall")
                    if title not in best:
                        continue
                    r = best[title]
                    for metric, key, unit in (("wall", "wall", "s"), ("cpu", "cpu", "s"), ("peak memory", "rss_mb", "MB")):
                        figures.add(name, metric, r[key], unit, what=title, kind=kind, size=a.size)
                    print(f"{kind:10s} {title:22s} {name:12s} {r['wall'] * 1000:8.0f} ms wall {r['cpu'] * 1000:8.0f} ms cpu {r['rss_mb']:8.1f} MB")
                    sys.stdout.flush()
        figures.write(a.json)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


if __name__ == "__main__":
    main()
