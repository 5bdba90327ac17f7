#!/usr/bin/env python3
"""Runs the clients of the Codex CLI against several programs, and prints which checks pass on which. See README.md.

Every program runs in a network namespace with nothing but `lo`, and in folders that are thrown away.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# How long all checks of one client may take, in seconds.
LIMIT = 1200

# Of each client: the script, and the folder below --packages in which the client is installed.
CLIENTS = [
    ("sdk.mjs", "sdk"),
    ("sdk.mjs", "sdk-newest"),
    ("acp.mjs", "acp"),
    ("acp.mjs", "acp-newest"),
    ("aisdk.mjs", "aisdk"),
    ("aisdk.mjs", "aisdk-newest"),
    ("python_client.py", "client"),
    ("small_client.py", "small"),
    ("usage.py", "usage"),
]

CHECK = re.compile(r"^  (ok|FAILED|SKIPPED) +([^:]+)")
TITLE = re.compile(r"^([@a-z][^ ]*) (\d[^ ]*)$")


def command(script, packages, program, model, node):
    """What runs a client's checks against a program."""
    more = ["--bin", str(program), "--model", model]
    if script.endswith(".mjs"):
        return [node, str(HERE / script), "--packages", str(packages), *more]
    if script == "usage.py":
        return [sys.executable, str(HERE / script), "--packages", str(packages), "--node", node, *more]
    return [str(packages / "bin/python"), str(HERE / script), *more]


def passed(words):
    """The clients with their versions, and of each check whether it passed."""
    inside = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh", *words]
    try:
        ran = subprocess.run(inside, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
        told = ran.stdout
    except subprocess.TimeoutExpired as late:
        told = (late.stdout or b"").decode()
    found, client = {}, None
    for line in told.splitlines():
        if title := TITLE.match(line):
            client = " ".join(title.groups())
            found[client] = {}
        elif (check := CHECK.match(line)) and client:
            found[client][check[2].strip()] = check[1] == "ok"
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", type=Path, required=True, help="the folder with a folder for each client")
    parser.add_argument("--program", action="append", required=True, help="NAME=PATH or NAME=PATH=MODEL; the last is ours")
    parser.add_argument("--node", default="node", help="the Node that runs the clients")
    parser.add_argument("--match", default="", help="only folders with this in their name")
    options = parser.parse_args()
    programs = [(it.split("=") + ["gpt-5.2-codex"])[:3] for it in options.program]
    rows, worse = [], []
    for script, folder in CLIENTS:
        packages = options.packages / folder
        if options.match not in folder:
            continue
        if not packages.exists():
            rows.append((f"{folder} ({script})", *["not installed"] * len(programs)))
            continue
        results = [passed(command(script, packages, Path(path).resolve(), model, options.node)) for _, path, model in programs]
        for client in sorted(set().union(*results)):
            checks = sorted(set().union(*(it.get(client, {}) for it in results)))
            cells = [f"{sum(it.get(client, {}).values())} of {len(checks)}" for it in results]
            rows.append((f"`{client.split()[0]}` {client.split()[1]}", *cells))
            ours = results[-1].get(client, {})
            worse += [
                f"{client}: {check} passes on {name} and not on {programs[-1][0]}"
                for check in checks
                for (name, _, _), it in zip(programs[:-1], results)
                if it.get(client, {}).get(check) and not ours.get(check)
            ]
            missed = [check for check in checks if not ours.get(check)]
            if missed:
                print(f"{client}: does not pass on {programs[-1][0]}: {', '.join(missed)}", file=sys.stderr)
    print("| client | " + " | ".join(name for name, _, _ in programs) + " |")
    print("| --- |" + " --- |" * len(programs))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    for line in worse:
        print(line)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
