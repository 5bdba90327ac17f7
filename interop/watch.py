#!/usr/bin/env python3
"""Other agents through `pellucid watch`, against a server on the loopback interface.

Every agent runs twice with the same words in a network namespace that has nothing but `lo`: alone, and watched. The script
checks that the server gets the same bodies, that the record equals the server's bytes, and that `replay` finds it unaltered,
and prints a table. `bench/watch.py` measures the detour of a request.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from agents.upstream import Upstream  # noqa: E402

RULES = "# Rules\n\nEvery change comes with a test that failed before it.\nNever touch the file Cargo.toml without asking.\n"
WORDS = "Which rules apply in this folder?"

# What differs between two runs of the same program: ids, digests, times, folders of one run, ports.
VOLATILE = re.compile(
    rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{24,64}|\b(?:ses|msg|prj|prt)_\w+"
    rb"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?|\b\d{10,19}\b|cch=\w+|cc_version=[\w.]+|127\.0\.0\.1:\d+[\w/]*"
)


def codex(words):
    return ["codex", "exec", "--skip-git-repo-check", words], {"OPENAI_API_KEY": "k"}


def claude(words):
    variables = {"ANTHROPIC_API_KEY": "k", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_ERROR_REPORTING": "1"}
    return ["claude", "-p", words], {**variables, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


def pi(words):
    # pi reads the address of its server from its own file, which names a variable's value.
    return ["pi", "-p", "--provider", "watched", "--model", "m", words], {"OPENAI_API_KEY": "k"}


def opencode(words):
    return ["opencode", "run", "-m", "watched/m", words], {"OPENAI_API_KEY": "k", "OPENCODE_DISABLE_AUTOUPDATE": "1"}


def gemini(words):
    return ["gemini", "-m", "gemini-2.5-pro", "-p", words], {"GEMINI_API_KEY": "k", "GEMINI_CLI_TRUST_WORKSPACE": "true"}


AGENTS = {"codex": codex, "claude": claude, "pi": pi, "opencode": opencode, "gemini": gemini}
ADDRESSES = {"OPENAI_BASE_URL": "/v1", "ANTHROPIC_BASE_URL": "", "GOOGLE_GEMINI_BASE_URL": ""}


def configure(name, folder):
    """Files by which an agent finds the address in a variable, where it does not read one by itself."""
    if name == "pi":
        file = folder / "user/.pi/agent/models.json"
        model = {"id": "m", "name": "m", "reasoning": False, "input": ["text"], "contextWindow": 200000, "maxTokens": 1000,
                 "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
        provider = {"baseUrl": "@OPENAI_BASE_URL@", "apiKey": "OPENAI_API_KEY", "api": "openai-completions", "models": [model]}
        text = json.dumps({"providers": {"watched": provider}})
    elif name == "opencode":
        file = folder / "user/.config/opencode/opencode.json"
        options = {"baseURL": "{env:OPENAI_BASE_URL}", "apiKey": "k"}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "watched", "options": options, "models": {"m": {"name": "m"}}}
        text = json.dumps({"$schema": "", "provider": {"watched": provider}, "autoupdate": False, "share": "disabled"})
    else:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def prepare(name, base):
    """A folder for one run. The second run of an agent gets a folder of the same name, as some put it into their texts."""
    folder = pathlib.Path(base) / "run"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "work").mkdir(parents=True)
    (folder / "home").mkdir()
    (folder / "user/.gemini").mkdir(parents=True)
    (folder / "user/.gemini/settings.json").write_text('{"security":{"auth":{"selectedType":"gemini-api-key"}}}')
    for file in ("AGENTS.md", "CLAUDE.md", "GEMINI.md"):
        (folder / "work" / file).write_text(RULES)
    subprocess.run(["git", "init", "-q"], cwd=folder / "work", check=True)
    configure(name, folder)
    return folder


def environment(folder, bin_dir, variables):
    kept = {name: os.environ[name] for name in ("LANG", "TERM") if name in os.environ}
    return {**kept, "PATH": f"{bin_dir}:{os.environ['PATH']}", "HOME": str(folder / "user"), "TMPDIR": str(folder),
            "PELLUCID_HOME": str(folder / "home"), **variables}


def fill_in(folder):
    """Starts a program whose file has no variables: the file gets the address first."""
    file = folder / "user/.pi/agent/models.json"
    return ["sh", "-c", f'sed -i "s|@OPENAI_BASE_URL@|$OPENAI_BASE_URL|" {file}; exec "$@"', "sh"] if file.exists() else []


def run(options, name, base, is_watched):
    folder = prepare(name, base)
    upstream = Upstream()
    argv, variables = AGENTS[name](WORDS)
    addresses = {variable: upstream.address + path for variable, path in ADDRESSES.items()}
    env = environment(folder, options.agents, {**variables, **addresses})
    command = fill_in(folder) + argv
    if is_watched:
        command = [options.bin, "watch", "--name", "w", "--"] + command
    began = time.monotonic()
    try:
        ran = subprocess.run(command, cwd=folder / "work", env=env, capture_output=True, timeout=options.timeout, stdin=subprocess.DEVNULL)
        status, out, err = ran.returncode, ran.stdout, ran.stderr
    except subprocess.TimeoutExpired as expired:
        status, out, err = "timeout", expired.stdout or b"", expired.stderr or b""
    seconds = time.monotonic() - began
    return {"folder": folder, "env": env, "bodies": list(upstream.bodies), "status": status, "out": out, "err": err, "seconds": seconds}


def plain(bodies):
    """Bodies that ask a model, without what differs from run to run."""
    models = ("/responses", "/chat/completions", "/messages", "enerateContent")
    return sorted(VOLATILE.sub(b"*", body.replace(b"\\/", b"/")) for path, body in bodies if path.endswith(models))


def pellucid(options, ran, *args):
    done = subprocess.run([options.bin, *args], cwd=ran["folder"] / "work", env=ran["env"], capture_output=True)
    return done.returncode, done.stdout


def recorded(options, ran):
    """The bodies of the record, the share of attributed bytes, and whether replay found every session unaltered."""
    _, listed = pellucid(options, ran, "sessions", "list", "--json")
    sessions = [it["id"] for it in json.loads(listed or b"{}").get("sessions", [])]
    bodies, known, total, proved = [], 0, 0, True
    for session in sessions:
        status, replay = pellucid(options, ran, "replay", "--json", session)
        proved &= status == 0
        for number in range(1, len(json.loads(replay)["requests"]) + 1):
            name = f"{session}#{number}"
            bodies.append(pellucid(options, ran, "prompt", "--format", "body", name)[1])
            report = json.loads(pellucid(options, ran, "context", "--json", name)[1])
            total += report["bytes"]
            known += sum(row["bytes"] for row in report["rows"] if row["source"] != "unknown")
    return bodies, 100 * known / max(total, 1), len(sessions), proved


def check(options, name):
    if not (pathlib.Path(options.agents) / name).exists():
        return [name, "SKIPPED: not installed"]
    base = tempfile.mkdtemp(prefix="watch-")
    alone, watched = run(options, name, base, False), run(options, name, base, True)
    bodies, share, n_sessions, proved = recorded(options, watched)
    got = [body for _, body in watched["bodies"] if body]
    one, two = plain(alone["bodies"]), plain(watched["bodies"])
    row = [name, str(watched["status"]), str(len(got)), str(n_sessions), "yes" if one == two and one else "NO",
           "yes" if sorted(bodies) == sorted(got) and got else "NO", f"{share:.1f} %", "yes" if proved else "NO",
           f"{alone['seconds']:.1f} s", f"{watched['seconds']:.1f} s"]
    if options.verbose:
        print(watched["out"][-300:], watched["err"][-600:], file=sys.stderr)
        for n, (a, b) in enumerate(zip(one, two)):
            if a != b:
                at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
                print(f"body {n} differs at {at}: {a[at - 60:at + 60]} / {b[at - 60:at + 60]}", file=sys.stderr)
    if not options.keep:
        shutil.rmtree(base, ignore_errors=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="the pellucid program")
    parser.add_argument("--agents", default="", help="the folder with the agents, such as node_modules/.bin")
    parser.add_argument("--only", action="append", choices=sorted(AGENTS))
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the runs")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.bin = str(pathlib.Path(options.bin).resolve())
    options.agents = options.agents and str(pathlib.Path(options.agents).resolve())
    if not options.inside:
        # Nothing but the loopback interface can be reached from here on.
        script = 'ip link set lo up && exec "$@"'
        argv = ["unshare", "-n", "-r", "sh", "-c", script, "sh", sys.executable, __file__, "--inside", *sys.argv[1:]]
        sys.exit(subprocess.run(argv).returncode)
    print("| agent | status | bodies | sessions | same bodies alone and watched | record equals server's bytes | bytes attributed | replay | alone | watched |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    failed = False
    for name in options.only or AGENTS:
        row = check(options, name)
        failed |= "NO" in row
        print("| " + " | ".join(row) + " |", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
