#!/usr/bin/env python3
"""Holds `pellucid app-server` against a small client of others, `codex-app-server-client`. See README.md."""

import argparse
import asyncio
import importlib.metadata
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "conformance"))

try:
    from codex_app_server_client import CodexAppServer
except ImportError:
    CodexAppServer = None

from mock_model import MockModel  # noqa: E402

PACKAGE = "codex-app-server-client"
LIMIT = 60


async def turn(codex):
    """A turn with its answer."""
    thread = await codex.start_thread()
    result = await thread.run("Hi.")
    assert result.final_response == "Hello.", result


async def streamed(codex):
    """A turn, event by event."""
    thread = await codex.start_thread()
    kinds = [type(event).__name__ async for event in thread.run_streamed("Hi.")]
    assert "AgentMessageDeltaEvent" in kinds and "TurnCompletedEvent" in kinds, kinds


async def two_turns(codex):
    """Two turns of one thread."""
    thread = await codex.start_thread()
    for _ in range(2):
        result = await thread.run("Hi.")
        assert result.final_response == "Hello.", result


CHECKS = {"turn": turn, "streamed": streamed, "two turns": two_turns}


async def run(check, options):
    with tempfile.TemporaryDirectory(prefix="pellucid-interop-") as folder:
        home, work = Path(folder, "home"), Path(folder, "work")
        home.mkdir()
        work.mkdir()
        model = MockModel([{"items": ["Hello."]}, {"items": ["Hello."]}])
        model.start()
        home.joinpath("config.toml").write_text(
            f'model = "{options.model}"\nmodel_provider = "interop"\n[analytics]\nenabled = false\n[model_providers.interop]\n'
            f'name = "Interop"\nbase_url = "{model.base_url}"\nwire_api = "responses"\n'
        )
        # The client starts what is found under this name.
        Path(folder, "codex").symlink_to(options.bin)
        os.environ.update(PATH=f"{folder}:{options.path}", HOME=str(home), CODEX_HOME=str(home))
        os.chdir(work)
        async with CodexAppServer() as codex:
            await check(codex)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=ROOT / "target/debug/pellucid", help="the program")
    parser.add_argument("--model", default="gpt-5.2-codex", help="the model's name in requests")
    parser.add_argument("--require", action="store_true", help="fail when a check is skipped")
    options = parser.parse_args()
    options.bin, options.path = options.bin.resolve(), os.environ["PATH"]
    if CodexAppServer is None or not options.bin.exists():
        reason = f"{options.bin} is not built" if CodexAppServer else f"the package `{PACKAGE}` is not installed"
        print(f"SKIPPED {PACKAGE}: {reason}, see interop/README.md\n0 failed, {len(CHECKS)} skipped")
        return 1 if options.require else 0
    print(f"{PACKAGE} {importlib.metadata.version(PACKAGE)}")
    n_failed = 0
    for name, check in CHECKS.items():
        try:
            asyncio.run(asyncio.wait_for(run(check, options), LIMIT))
            print(f"  ok      {name}", flush=True)
        except Exception as error:  # What the client raises is a failure too.
            n_failed += 1
            print(f"  FAILED  {name}: {type(error).__name__}: {error}", flush=True)
    print(f"{n_failed} failed, 0 skipped")
    return 1 if n_failed else 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)
