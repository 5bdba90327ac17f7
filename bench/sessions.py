#!/usr/bin/env python3
"""Listing a large session store with a new process for each list: `sessions list --json`.

sessions.py --bin NAME=PATH [--bin ...] [--count 10000] [--repeat 5] [--limit 50] [--keep DIR]

A binary whose name begins with codex has no such command; it is asked through its app server
(start, `initialize`, `thread/list`), which is what a new process of it costs. For each: the first
list of a store that was never seen (an index may be made), the page by update time, the page by
creation time, one folder's page, a search. Wall and CPU of the whole process. Ratios come last.
`--keep DIR` leaves the store there, for `cargo bench -p pellucid-store --bench listing -- DIR/home DIR/work/0`.
"""
import argparse, json, os, pathlib, shutil, tempfile, time
import common, rollouts

PARTS = {
    "first use": ["--sort", "updated"],
    "by update": ["--sort", "updated"],
    "by creation": ["--sort", "created"],
    "one folder": ["--sort", "updated", "--cwd", "CWD"],
    "search": ["--search", "verbose-77"],
}


def ours(path, home, cwd, limit, args):
    args = [cwd if a == "CWD" else a for a in args]
    r = common.run([path, "sessions", "list", "--json", "--limit", str(limit), *args], env=common.codex_env(home), cwd=cwd)
    if r["rc"] != 0:
        raise common.Failed(f"status {r['rc']}: {r['err'][-500:]!r}")
    return r["wall"], r["cpu"], len(json.loads(r["out"])["sessions"])


def app_server(path, home, cwd, limit, args):
    params = {"limit": limit, "sourceKinds": ["exec", "cli", "vscode"], "modelProviders": []}
    if "updated" in args:
        params["sortKey"] = "updated_at"
    if "CWD" in args:
        params["cwd"] = cwd
    if "--search" in args:
        params["searchTerm"] = "verbose-77"
    t = time.monotonic()
    rpc = common.Rpc([path, "app-server"], common.codex_env(home), cwd)
    rpc.hello()
    r = rpc.call("thread/list", params, timeout=600)
    wall, cpu = time.monotonic() - t, common.cpu_of(rpc.pid)
    rpc.close()
    return wall, cpu, len(r["data"])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", action="append", required=True)
    p.add_argument("--template", help="binary that writes the template rollout (default: the first --bin)")
    p.add_argument("--count", type=int, default=10000)
    p.add_argument("--limit", type=int, default=50)
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--json", help="write the figures here")
    p.add_argument("--keep", help="where the store of the first binary stays")
    a = p.parse_args()
    common.loopback_only()
    bins = common.bins(a.bin)
    tmp = tempfile.mkdtemp(prefix="sessions-", dir=common.scratch())
    best = {}
    figures = common.Figures("sessions")
    try:
        lines = rollouts.template(a.template or bins[0][1], tmp)
        base = a.keep or tmp
        cwds = [f"{base}/work/{k}" for k in range(20)]
        for c in cwds:
            os.makedirs(c, exist_ok=True)
        homes = {}
        for n, (name, _) in enumerate(bins):
            homes[name] = f"{base}/home" if n == 0 else f"{tmp}/home-{name}"
            common.codex_config(homes[name], 1, name)
            rollouts.multiply(lines, homes[name], a.count, cwds)
        for _ in range(a.repeat):
            for name, path in bins:
                for part, args in PARTS.items():
                    if part == "first use":
                        for old in pathlib.Path(homes[name]).glob("*.sqlite*"):
                            old.unlink()
                    ask = app_server if name.startswith("codex") else ours
                    try:
                        v = ask(path, homes[name], cwds[0], a.limit, args)
                    except (common.Failed, RuntimeError, TimeoutError, OSError) as e:
                        figures.failed(name, e, part=part, count=a.count)
                        continue
                    old = best.setdefault(name, {}).get(part)
                    best[name][part] = v if old is None or v[0] < old[0] else old
        names = [n for n, _ in bins]
        for name in names:
            for part in (part for part in PARTS if part in best.get(name, {})):
                wall, cpu, n = best[name][part]
                figures.add(name, part, wall, "s", count=a.count)
                figures.add(name, f"{part}, cpu", cpu, "s", count=a.count)
                print(f"{name:12s} {part:12s} wall {wall * 1000:9.1f} ms cpu {cpu * 1000:9.1f} ms rows {n}")
        for part in PARTS:
            if part in best.get(names[0], {}):
                common.ratios(f"{part} wall", names, lambda n: best[n][part][0] if part in best.get(n, {}) else None)
        figures.write(a.json)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


if __name__ == "__main__":
    main()
