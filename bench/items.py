#!/usr/bin/env python3
"""How the cost of a request grows with the items that the session has.

items.py --bin NAME=PATH [--bin ...] [--items 10,100,1000,10000,100000] [--most NAME=N] [--calls 20] [--output 60] [--repeat 3] [--json FILE]

A stored session of N items (calls and their outputs of OUTPUT bytes, all of which are sent) is continued twice: by a
turn that the model answers at once, and by one of CALLS calls. CPU of a follow-up is the difference of the two, by
CALLS. The first request is the one that reads the session from its file. A request carries all items, so the bytes on
the socket grow with N for every program; what is compared is how much more than these a program does.
"""
import argparse, shutil, sys, tempfile
import common, rollouts


def once(name, path, home, work, calls, timeout):
    watch = f"{home}/pid"
    with common.Mock("--calls", calls, "--tool", "" if calls == 0 else "update_plan", "--watch", watch) as mock:
        common.codex_config(home, mock.port, name)
        argv = [path, "exec", "--skip-git-repo-check", "-c", "model_context_window=1000000000", "resume", "--last", "go on"]
        r = common.run(argv, env=common.codex_env(home), cwd=work, timeout=timeout, pidfile=watch)
        rows = [x for x in mock.close() if x["i"] is not None]
    if r["rc"] != 0 or len(rows) != calls + 1:
        raise common.Failed(f"status {r['rc']}, {len(rows)} requests of {calls + 1}: {r['err'][-500:]!r}")
    return {"cpu": r["cpu"], "first": rows[0]["t"] - r["start"], "rss_mb": r["rss_mb"], "bytes": rows[0]["bytes"]}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", action="append", required=True)
    p.add_argument("--template", help="binary that writes the template rollout (default: the first --bin)")
    p.add_argument("--items", default="10,100,1000,10000,100000")
    p.add_argument("--most", action="append", default=[], help="NAME=N: no more items for this program")
    p.add_argument("--calls", type=int, default=20)
    p.add_argument("--output", type=int, default=60)
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--timeout", type=float, default=300)
    p.add_argument("--json", help="write the figures here")
    a = p.parse_args()
    common.loopback_only()
    bins, most, figures = common.bins(a.bin), common.most(a.most), common.Figures("items")
    tmp = tempfile.mkdtemp(prefix="items-", dir=common.scratch())
    try:
        lines = rollouts.template(a.template or bins[0][1], tmp)
        work = f"{tmp}/work"
        common.repo(work)
        for items in map(int, a.items.split(",")):
            src = f"{tmp}/src"
            shutil.rmtree(src, ignore_errors=True)
            rollouts.grow(lines, src, 0, work, output=a.output, items=items)
            best = {}
            for k in range(a.repeat):
                for name, path in bins:
                    if items > most.get(name, items) or (k and name not in best):
                        continue
                    try:
                        for calls in (0, a.calls):
                            home = f"{tmp}/home"
                            shutil.rmtree(home, ignore_errors=True)
                            shutil.copytree(src, home)
                            common.keep(best.setdefault(name, {}), calls, once(name, path, home, work, calls, a.timeout))
                    except common.Failed as e:
                        figures.failed(name, e, items=items)
                        best.pop(name, None)
            names = [name for name, _ in bins if name in best]
            for name in names:
                none, many = best[name][0], best[name][a.calls]
                call = max(0.0, many["cpu"] - none["cpu"]) / a.calls
                best[name]["call"] = call
                for metric, value, unit in (("follow-up, cpu", call, "s"), ("first request", none["first"], "s"), ("exit, cpu", none["cpu"], "s"),
                                            ("peak memory", many["rss_mb"], "MB"), ("first request, size", none["bytes"], "bytes")):
                    figures.add(name, metric, value, unit, items=items)
                print(f"items {items:7d} {name:12s} follow-up {call * 1000:9.3f} ms cpu | first request {none['first'] * 1000:8.1f} ms wall | exit {none['cpu'] * 1000:8.1f} ms cpu"
                      f" | rss {many['rss_mb']:7.1f} MB | request {none['bytes'] / 1e6:.2f} MB")
            if names and names[0] == bins[0][0]:
                common.ratios(f"items {items} follow-up", names, lambda n: best[n]["call"])
                common.ratios(f"items {items} first request", names, lambda n: best[n][0]["first"])
            sys.stdout.flush()
        figures.write(a.json)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


if __name__ == "__main__":
    main()
