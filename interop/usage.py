#!/usr/bin/env python3
"""Holds the session files of `pellucid exec`, called as `codex`, against programs that count the usage of the Codex CLI.

See README.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "conformance"))

from mock_model import MockModel  # noqa: E402

LIMIT = 60

# What the scripted model says that it used.
USAGE = {"input": 100_000, "cached": 60_000, "output": 1_000}


def counted_by_ccusage(program, env):
    """The tokens that ccusage counts."""
    told = call([*program, "codex", "session", "--json", "--offline"], env)
    return json.loads(told)["totals"]["totalTokens"]


def counted_by_codeburn(program, env):
    """Whether codeburn counts calls at all; it counts every line about tokens, of which 0.104.0 writes two."""
    told = call([*program, "status", "--format", "json"], env)
    return json.loads(told)["today"]["calls"] > 0


COUNTERS = {"ccusage": (counted_by_ccusage, USAGE["input"] + USAGE["output"]), "codeburn": (counted_by_codeburn, True)}


def call(command, env):
    ran = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
    if ran.returncode != 0:
        raise RuntimeError(f"{command[-2:]}: {ran.stderr or ran.stdout}")
    return ran.stdout


def program_of(folders, name, node):
    """The counter as it was installed, or nothing."""
    for folder in folders:
        about = folder / "node_modules" / name / "package.json"
        if about.exists():
            described = json.loads(about.read_text())
            entry = described["bin"] if isinstance(described["bin"], str) else described["bin"][name]
            return [node, str(about.parent / entry)], described["version"]
    return None


def check(options, count, expected, counter):
    with tempfile.TemporaryDirectory(prefix="pellucid-interop-") as folder:
        home, work = Path(folder, "home"), Path(folder, "work")
        (home / ".codex").mkdir(parents=True)
        work.mkdir()
        model = MockModel([{"items": ["Hello."], "usage": USAGE}])
        model.start()
        (home / ".codex/config.toml").write_text(
            f'model = "{options.model}"\nmodel_provider = "interop"\n[analytics]\nenabled = false\n[model_providers.interop]\n'
            f'name = "Interop"\nbase_url = "{model.base_url}"\nwire_api = "responses"\n'
        )
        # Programs find the Codex CLI by this name.
        codex = Path(folder, "codex")
        codex.symlink_to(options.bin)
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home / ".codex")}
        command = [str(codex), "exec", "--skip-git-repo-check", "-C", str(work), "Hi."]
        call(command, env)
        told = count(counter, env)
        assert told == expected, f"{told} instead of {expected}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=ROOT / "target/debug/pellucid", help="the program")
    parser.add_argument("--packages", type=Path, action="append", default=[], help="a folder with node_modules")
    parser.add_argument("--node", default="node", help="the Node that runs the counters")
    parser.add_argument("--model", default="gpt-5.2-codex", help="the model's name in requests")
    parser.add_argument("--match", default="", help="only counters with this in their name")
    parser.add_argument("--require", action="store_true", help="fail when a check is skipped")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    n_failed = n_skipped = 0
    for name, (count, expected) in COUNTERS.items():
        if options.match not in name:
            continue
        found = program_of(options.packages, name, options.node)
        if not options.bin.exists() or found is None:
            n_skipped += 1
            reason = f"the package `{name}` is not installed" if options.bin.exists() else f"{options.bin} is not built"
            print(f"SKIPPED {name}: {reason}, see interop/README.md")
            continue
        counter, version = found
        try:
            check(options, count, expected, counter)
            print(f"{name} {version}\n  ok      counted")
        except Exception as error:  # What a counter or the program says is why the check failed.
            n_failed += 1
            print(f"{name} {version}\n  FAILED  counted: {error}")
    print(f"{n_failed} failed, {n_skipped} skipped")
    return 1 if n_failed or (options.require and n_skipped) else 0


if __name__ == "__main__":
    sys.exit(main())
