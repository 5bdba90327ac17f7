#!/usr/bin/env python3
"""Holds `pellucid acp` against the protocol's SDK for Python, which reads every message by its own models.

See README.md.
"""

import argparse
import asyncio
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "conformance"))

try:
    import acp
    from acp.schema import AllowedOutcome, RequestPermissionResponse
except ImportError:
    acp = None

from mock_model import MockModel  # noqa: E402

LIMIT_S = 60


class Editor:
    """A client that keeps what comes and allows everything once."""

    def __init__(self):
        self.updates = []
        self.asked = []

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked.append(options)
        option = next(it for it in options if it.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option.option_id))

    def on_connect(self, conn):
        pass

    def text(self):
        chunks = [it for it in self.updates if it.session_update == "agent_message_chunk"]
        return "".join(it.content.text for it in chunks)


def shell(command, **more):
    return [{"call": "shell", "args": {"command": ["bash", "-c", command], **more}}]


async def turns(agent, editor, work):
    """Prompts, a command that is asked about, the requests behind them."""
    session = await agent.new_session(cwd=str(work), mcp_servers=[])
    end = await agent.prompt(session_id=session.session_id, prompt=[acp.text_block("Run.")])
    assert end.stop_reason == "end_turn", end
    assert len(editor.asked) == 1 and (work / "one.txt").read_text() == "one\n"
    assert editor.text() == "Done.", editor.text()
    calls = [it for it in editor.updates if it.session_update == "tool_call"]
    assert calls[0].field_meta["pellucid"]["request"]["n"] == 1, calls[0]
    assert [it["n"] for it in end.field_meta["pellucid"]["requests"]] == [1, 2], end
    prompt = asyncio.ensure_future(agent.prompt(session_id=session.session_id, prompt=[acp.text_block("Wait.")]))
    while not any(getattr(it, "title", None) == "sleep 100" for it in editor.updates):
        await asyncio.sleep(0.02)
    await agent.cancel(session_id=session.session_id)
    assert (await prompt).stop_reason == "cancelled"
    loaded = await agent.load_session(cwd=str(work), session_id=session.session_id, mcp_servers=[])
    assert loaded.modes.current_mode_id, loaded
    listed = await agent.list_sessions()
    assert [it.session_id for it in listed.sessions] == [session.session_id], listed


async def run(binary):
    script = [shell("echo one > one.txt", sandbox_permissions="require_escalated", justification="May I?"), "Done.", shell("sleep 100")]
    with tempfile.TemporaryDirectory(prefix="pellucid-interop-") as folder:
        home, work = pathlib.Path(folder, "home"), pathlib.Path(folder, "work")
        home.mkdir()
        work.mkdir()
        model = MockModel(script)
        model.start()
        home.joinpath("config.toml").write_text(
            'model = "gpt-5.2-codex"\nmodel_provider = "interop"\n[model_providers.interop]\nname = "Interop"\n'
            f'base_url = "{model.base_url}"\nwire_api = "responses"\n'
        )
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home)}
        editor = Editor()
        async with acp.spawn_agent_process(editor, binary, "acp", env=env, cwd=str(work)) as (agent, _):
            about = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
            assert about.agent_info.name == "pellucid", about
            await turns(agent, editor, work)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default=str(ROOT / "target/debug/pellucid"))
    parser.add_argument("--require", action="store_true", help="fail if a check is skipped")
    options = parser.parse_args()
    if acp is None:
        print("SKIPPED agent-client-protocol: the package is not installed, see interop/README.md")
        return 1 if options.require else 0
    if not os.path.exists(options.bin):
        print(f"SKIPPED agent-client-protocol: {options.bin} is not built, see interop/README.md")
        return 1 if options.require else 0
    asyncio.run(asyncio.wait_for(run(options.bin), LIMIT_S))
    print("  ok      turns\n0 failed, 0 skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
