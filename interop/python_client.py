#!/usr/bin/env python3
"""Holds `pellucid app-server` against the Codex SDK for Python. See README.md."""

import argparse
import base64
import json
import os
import queue
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "conformance"))

from mock_model import MockModel  # noqa: E402

PACKAGE = "openai-codex"

# The least picture there is.
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

# Members that this client demands and that 0.104.0 does not send. They are filled in, so that the rest can be held
# against the client all the same; `as it is` says which of them are missing.
NEWER = {
    "approvalsReviewer": lambda _: "user",
    "ephemeral": lambda _: False,
    "sessionId": lambda thread: thread["id"],
    "status": lambda _: {"type": "idle"},
    "startedAtMs": lambda _: 0,
    "completedAtMs": lambda _: 0,
}

# How long a check may take, in seconds.
LIMIT = 60


class Failed(Exception):
    """Why a check failed."""


class Skipped(Exception):
    """Why a check says nothing."""


def expect(is_so, otherwise):
    if not is_so:
        raise Failed(otherwise)


def expect_equal(actual, expected, what):
    expect(actual == expected, f"{what}: {actual!r} instead of {expected!r}")


# The client.


class Client:
    """The SDK, imported late, with what it demands beyond 0.104.0 filled in."""

    def __init__(self):
        import openai_codex
        import openai_codex.types
        import pydantic
        from openai_codex import client

        self.sdk = openai_codex
        self.module = client
        self.pydantic = pydantic
        self.filled = set()
        self.version = openai_codex.__version__

    def fill(self, model, value):
        """Fills in what `model` misses in `value`, as far as it is newer than 0.104.0."""
        for _ in range(20):
            try:
                model.model_validate(value)
                return
            except self.pydantic.ValidationError as error:
                missing = [it["loc"] for it in error.errors() if it["type"] == "missing" and it["loc"][-1] in NEWER]
            if not missing:
                return
            for loc in missing:
                holder = value
                for part in loc[:-1]:
                    # A part that names a member of a union is no key.
                    if (isinstance(holder, dict) and part in holder) or (isinstance(holder, list) and isinstance(part, int)):
                        holder = holder[part]
                holder[loc[-1]] = NEWER[loc[-1]](holder)
                self.filled.add(".".join(str(it) for it in loc))

    def install(self):
        """Puts the filling between the transport and the SDK's models."""
        outer, cls = self, self.module.CodexClient
        original_request, original_coerce = cls.request, cls._coerce_notification

        def request(client, method, params, *, response_model):
            class Filled(response_model):
                @classmethod
                def model_validate(inner, value, *args, **named):
                    outer.fill(response_model, value)
                    return response_model.model_validate(value, *args, **named)

            return original_request(client, method, params, response_model=Filled)

        def coerce(client, method, params):
            client.seen.append(method)
            model = self.module.NOTIFICATION_MODELS.get(method)
            if model is not None and isinstance(params, dict):
                outer.fill(model, params)
            made = original_coerce(client, method, params)
            if model is not None and not isinstance(made.payload, model):
                client.misread.append((method, params))
            return made

        cls.misread, cls.seen = [], []
        cls.request, cls._coerce_notification = request, coerce

        def uninstall():
            cls.request, cls._coerce_notification = original_request, original_coerce

        return uninstall


class Bench:
    """A home of its own, a scripted model, and the program through the SDK."""

    def __init__(self, options, client, folder):
        self.options, self.client, self.folder = options, client, folder
        self.home, self.work = folder / "home", folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.mocks = []
        self.opened = []

    def model(self, script):
        mock = MockModel(script).start()
        self.mocks.append(mock)
        (self.home / "config.toml").write_text(
            f'model = "{self.options.model}"\nmodel_provider = "interop"\n[analytics]\nenabled = false\n'
            f'[model_providers.interop]\nname = "Interop"\nbase_url = "{mock.base_url}"\nwire_api = "responses"\n'
            "stream_max_retries = 0\nrequest_max_retries = 0\n"
        )
        return mock

    def config(self):
        env = {"HOME": str(self.home), "CODEX_HOME": str(self.home), "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        return self.client.sdk.CodexConfig(codex_bin=str(self.options.bin), cwd=str(self.work), env=env)

    def open(self):
        codex = self.client.sdk.Codex(self.config())
        self.opened.append(codex)
        return codex

    def until(self, what, holds):
        end = time.monotonic() + LIMIT
        while not holds():
            expect(time.monotonic() < end, f"waited in vain until {what}")
            time.sleep(0.02)

    def close(self):
        for codex in self.opened:
            codex.close()
        for mock in self.mocks:
            mock.stop()


def bodies(mock):
    return [json.loads(it["body"]) for it in mock.exchanges if it["method"] == "POST"]


def kinds(result):
    return [item.root.type for item in result.items]


# The checks.


def check_as_it_is(bench):
    """The client with nothing filled in."""
    bench.model(["One."])
    codex = bench.open()
    try:
        thread = codex.thread_start(cwd=str(bench.work))
    except bench.client.pydantic.ValidationError as error:
        errors = error.errors()
        expect(all(it["type"] == "missing" and it["loc"][-1] in NEWER for it in errors), str(error))
        missing = [".".join(str(part) for part in it["loc"]) for it in errors]
        raise Skipped(f"the client demands members that are newer than 0.104.0: {', '.join(missing)}") from error
    expect_equal(thread.run("Hello.").final_response, "One.", "the answer")


def check_turns(bench):
    """Two turns with the figures, the items and the order of the events."""
    usage = {"input": 100, "cached": 60, "output": 10}
    mock = bench.model([
        {"items": [{"think": "Think.", "encrypted": "E"}, "I look.", {"call": "exec_command", "args": {"cmd": "echo looking"}}], "usage": usage},
        {"items": [{"call": "update_plan", "args": {"plan": [{"step": "Patch", "status": "completed"}]}}], "usage": usage},
        {"items": [{"custom": "apply_patch", "input": ["*** Begin Patch", "*** Add File: made.txt", "+made", "*** End Patch"]}], "usage": usage},
        {"items": ["Grüße 🙂"], "usage": usage},
        {"items": ["Second."], "usage": usage},
    ])
    codex = bench.open()
    expect(codex.metadata.serverInfo.version, "no version of the server")
    thread = codex.thread_start(cwd=str(bench.work), sandbox=bench.client.sdk.Sandbox.full_access)
    first = thread.run("First prompt.")
    expect_equal(first.final_response, "Grüße 🙂", "the first answer")
    expect_equal(first.status.value, "completed", "the status")
    expect_equal(
        kinds(first),
        ["userMessage", "reasoning", "agentMessage", "commandExecution", "fileChange", "agentMessage"],
        "the items",
    )
    command = first.items[3].root
    expect_equal((command.aggregated_output, command.exit_code), ("looking\n", 0), "the command")
    expect_equal((first.usage.total.input_tokens, first.usage.total.cached_input_tokens), (400, 240), "the figures")
    methods = [it.method for it in thread.turn("Second prompt.").stream()]
    for method in ("turn/started", "item/started", "item/agentMessage/delta", "item/completed", "turn/completed"):
        expect(method in methods, f"{method} is not among {methods}")
    expect_equal(methods[-1], "turn/completed", "the last event")
    sent = json.dumps(bodies(mock)[4]["input"], ensure_ascii=False)
    for text in ("First prompt.", "looking", "Grüße 🙂", "Second prompt."):
        expect(text in sent, f"the second turn does not send {text}")
    return f"{len(methods)} events in the second turn"


def check_resume(bench):
    """A thread is gone on with, listed, read, named and forked from another process."""
    mock = bench.model(["One.", "Two.", "Three."])
    with bench.open() as codex:
        thread = codex.thread_start(cwd=str(bench.work))
        thread.run("First prompt.")
    codex = bench.open()
    again = codex.thread_resume(thread.id)
    expect_equal(again.id, thread.id, "the id")
    expect_equal(again.run("Second prompt.").final_response, "Two.", "the answer")
    expect("First prompt." in json.dumps(bodies(mock)[1]["input"]), "the first prompt is lost")
    again.set_name("A name")
    read = again.read(include_turns=True).thread
    expect_equal([it.root.type for it in read.turns[0].items], ["userMessage", "agentMessage"], "the first turn")
    expect_equal(len(read.turns), 2, "the number of turns")
    expect(thread.id in [it.id for it in codex.thread_list().data], "the thread is not listed")
    fork = codex.thread_fork(thread.id)
    expect(fork.id != thread.id, "the fork has the id of its origin")
    expect_equal(fork.run("Third prompt.").final_response, "Three.", "the answer of the fork")
    expect("Second prompt." in json.dumps(bodies(mock)[2]["input"]), "the fork has no history")
    codex.thread_archive(thread.id)
    expect(thread.id not in [it.id for it in codex.thread_list().data], "the archived thread is listed")
    expect_equal(codex.thread_unarchive(thread.id).id, thread.id, "the unarchived thread")


def check_input(bench):
    """Pictures, a schema, an effort, a model."""
    sdk = bench.client.sdk
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
    (bench.work / "pixel.png").write_bytes(PIXEL)
    mock = bench.model(['{"a":"b"}'])
    thread = bench.open().thread_start(cwd=str(bench.work))
    result = thread.run(
        [sdk.TextInput("Look."), sdk.LocalImageInput(str(bench.work / "pixel.png"))],
        output_schema=schema, model="gpt-5.1-codex", effort=sdk.types.ReasoningEffort("high"),
    )
    expect_equal(json.loads(result.final_response), {"a": "b"}, "the answer")
    body = bodies(mock)[0]
    expect_equal(body["text"]["format"]["schema"], schema, "the schema")
    expect_equal((body["model"], body["reasoning"]["effort"]), ("gpt-5.1-codex", "high"), "the model and the effort")
    expect("data:image/png;base64," in json.dumps(body["input"]), "the picture is not sent")


def check_approval(bench):
    """A command that the client is asked about: allowed once, refused once."""
    call = {"call": "shell", "args": {"command": ["bash", "-c", "echo one >> log.txt"]}}
    for decision, is_run in (("accept", True), ("decline", False)):
        mock = bench.model([[call], "Done."])
        asked = []

        def answer(method, params):
            asked.append((method, params))
            return {"decision": decision}

        client = bench.client.module.CodexClient(bench.config(), approval_handler=answer)
        bench.opened.append(client)
        client.start()
        client.initialize()
        log = bench.work / "log.txt"
        log.unlink(missing_ok=True)
        params = {"cwd": str(bench.work), "approvalPolicy": "untrusted", "sandbox": "workspace-write"}
        thread = client.thread_start(params).thread
        turn = client.turn_start(thread.id, "Write.").turn
        completed = client.wait_for_turn_completed(turn.id)
        expect_equal(completed.turn.status.value, "completed", f"{decision}: the status")
        expect_equal([it[0] for it in asked], ["item/commandExecution/requestApproval"], f"{decision}: the questions")
        expect_equal(asked[0][1]["threadId"], thread.id, f"{decision}: the thread of the question")
        expect_equal(log.exists(), is_run, f"{decision}: whether the command ran")
        expect_equal(len(bodies(mock)), 2, f"{decision}: the requests")


def check_interrupt(bench):
    """A turn is steered and interrupted while the model speaks."""
    held = {"items": ["Half.", "Never."], "stall": {"after": 4, "ms": 600_000}}
    mock = bench.model([held, "Back."])
    thread = bench.open().thread_start(cwd=str(bench.work))
    turn = thread.turn("Long prompt.")
    status = None
    for event in turn.stream():
        if event.method == "item/completed" and event.payload.item.root.type == "agentMessage":
            turn.steer("More.")
            turn.interrupt()
        if event.method == "turn/completed":
            status = event.payload.turn.status.value
    expect_equal(status, "interrupted", "the status")
    expect_equal(thread.run("Next.").final_response, "Back.", "the answer after it")
    sent = json.dumps(bodies(mock)[1]["input"])
    expect("Long prompt." in sent and "<turn_aborted>" in sent, "the history does not tell of the interruption")


def check_failure(bench):
    """A turn that fails, and a request that is refused."""
    bench.model([{"status": 400, "json": {"error": {"message": "no such model"}}}, "Back."])
    codex = bench.open()
    thread = codex.thread_start(cwd=str(bench.work))
    try:
        thread.run("One.")
        raise Failed("the failed turn has an answer")
    except RuntimeError as error:
        expect("no such model" in str(error), f"the reason is {error}")
    expect_equal(thread.run("Two.").final_response, "Back.", "the answer after it")
    try:
        codex.thread_resume("00000000-0000-7000-8000-000000000000")
        raise Failed("a thread that is not there was resumed")
    except bench.client.sdk.InvalidRequestError as error:
        expect("no rollout found" in str(error), f"the reason is {error}")


def check_account(bench):
    """The account and the models."""
    bench.model([])
    codex = bench.open()
    account = codex.account()
    expect_equal((account.account, account.requires_openai_auth), (None, False), "the account")
    models = codex.models().data
    expect(any(it.is_default for it in models), "no model is the default")
    return f"{len(models)} models"


def check_compact(bench):
    """The history is compacted."""
    mock = bench.model(["One.", "A summary.", "Two."])
    thread = bench.open().thread_start(cwd=str(bench.work))
    thread.run("First prompt.")
    seen = bench.client.module.CodexClient.seen
    seen.clear()
    thread.compact()
    # The answer comes at once and names no turn.
    bench.until("the compaction is over", lambda: "turn/completed" in seen)
    expect("thread/compacted" in seen, f"thread/compacted is not among {seen}")
    expect_equal(thread.run("Second prompt.").final_response, "Two.", "the answer")
    expect("A summary." in json.dumps(bodies(mock)[2]["input"]), "the summary is not sent")


CHECKS = [
    ("as it is", check_as_it_is), ("turns", check_turns), ("resume", check_resume), ("input", check_input),
    ("approval", check_approval), ("interrupt", check_interrupt), ("failure", check_failure),
    ("account", check_account), ("compact", check_compact),
]


def run_check(check, options, client, is_filled):
    """What the check tells; it runs in a thread of its own, as the client waits without limit."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        bench = Bench(options, client, Path(folder))
        uninstall = client.install() if is_filled else lambda: None
        told = queue.Queue()

        def work():
            try:
                told.put(("ok", check(bench)))
            except Skipped as reason:
                told.put(("SKIPPED", reason))
            except Exception as error:  # What the client raises is a failure too.
                told.put(("FAILED", error if isinstance(error, Failed) else f"{type(error).__name__}: {error}"))

        threading.Thread(target=work, daemon=True).start()
        try:
            status, text = told.get(timeout=LIMIT)
        except queue.Empty:
            status, text = "FAILED", f"not done after {LIMIT} seconds"
        finally:
            bench.close()
            uninstall()
        misread = client.module.CodexClient.misread if is_filled else []
        if status == "ok" and misread:
            status, text = "FAILED", f"the client cannot read {misread[0][0]}: {json.dumps(misread[0][1])}"
        return status, text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=ROOT / "target/debug/pellucid", help="the program")
    parser.add_argument("--model", default="gpt-5.2-codex", help="the model's name in requests")
    parser.add_argument("--match", default="", help="only checks with this in their name")
    parser.add_argument("--require", action="store_true", help="fail when a check is skipped")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    checks = [it for it in CHECKS if options.match in it[0]]
    try:
        client = Client()
        reason = None if options.bin.exists() else f"{options.bin} is not built, see interop/README.md"
    except ImportError as error:
        reason = f"the package `{PACKAGE}` is not installed ({error})"
    if reason:
        print(f"SKIPPED {PACKAGE}: {reason}\n0 failed, {len(checks)} skipped")
        return 1 if options.require else 0
    print(f"{PACKAGE} {client.version}")
    count = {"ok": 0, "SKIPPED": 0, "FAILED": 0}
    for name, check in checks:
        status, text = run_check(check, options, client, is_filled=check is not check_as_it_is)
        count[status] += 1
        print(f"  {status:7} {name}{f': {text}' if text else ''}")
    if client.filled:
        print(f"  filled in, as 0.104.0 does not send it: {', '.join(sorted(client.filled))}")
    print(f"{count['FAILED']} failed, {count['SKIPPED']} skipped")
    return 1 if count["FAILED"] or (options.require and count["SKIPPED"]) else 0


if __name__ == "__main__":
    # A check that hangs has left threads behind.
    status = main()
    sys.stdout.flush()
    os._exit(status)
