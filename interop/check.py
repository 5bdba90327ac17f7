#!/usr/bin/env python3
"""Holds our wires against the official SDKs. See README.md."""

import argparse
import base64
import http.server
import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import types
import typing
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Keys of servers of open models that the types of the SDK do not know.
EXTENSIONS = {"reasoning"}

# The least picture there is.
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

PLAN = '{"plan": [{"step": "look", "status": "completed"}]}'


class Failed(Exception):
    """Why a check failed."""


# What a wire needs of its SDK.


class Chat:
    name = "chat"
    package = "openai"
    path = "/chat/completions"

    def __init__(self):
        self.sdk = importlib.import_module(self.package)
        self.params = importlib.import_module(
            "openai.types.chat.completion_create_params"
        ).CompletionCreateParamsStreaming
        self.chunk = importlib.import_module("openai.types.chat").ChatCompletionChunk

    def client(self, base_url):
        return self.sdk.OpenAI(base_url=base_url, api_key="none", max_retries=0)

    def send(self, client, body):
        for _ in client.chat.completions.create(**body):
            pass

    def stream(self, thought, answer, calls):
        """A reply, written by the SDK's types."""
        frames = []

        def chunk(choices, usage=None):
            made = self.chunk.model_validate(
                {
                    "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
                    "choices": choices, "usage": usage,
                }
            )
            frames.append(f"data: {made.model_dump_json()}\n\n")

        def delta(**delta):
            chunk([{"index": 0, "delta": delta, "finish_reason": None}])

        delta(role="assistant", content="")
        if thought:
            delta(reasoning=thought)
        for character in answer:
            delta(content=character)
        for index, (call_id, name, arguments) in enumerate(calls):
            delta(tool_calls=[{"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}])
            for start in range(0, len(arguments), 7):
                delta(tool_calls=[{"index": index, "function": {"arguments": arguments[start : start + 7]}}])
        chunk([{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}])
        chunk([], {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105})
        frames.append("data: [DONE]\n\n")
        return "".join(frames)

    def read(self, client):
        """What the SDK makes of a stream of our mock server."""
        with client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "go"}]) as stream:
            thought = ""
            for event in stream:
                if event.type == "chunk":
                    for choice in event.chunk.choices:
                        thought += getattr(choice.delta, "reasoning", None) or ""
            completion = stream.get_final_completion()
        message = completion.choices[0].message
        calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls]
        usage = completion.usage
        return {
            "thought": thought, "answer": message.content, "calls": calls, "end": completion.choices[0].finish_reason,
            "figures": (usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens, usage.completion_tokens),
        }

    expected_end = "tool_calls"
    expected_figures = (100, 60, 10)


class Messages:
    name = "messages"
    package = "anthropic"
    path = "/messages"

    def __init__(self):
        self.sdk = importlib.import_module(self.package)
        self.params = importlib.import_module("anthropic.types.message_create_params").MessageCreateParamsStreaming
        kinds = importlib.import_module("anthropic.types")
        self.events = {
            "message_start": kinds.RawMessageStartEvent,
            "content_block_start": kinds.RawContentBlockStartEvent,
            "content_block_delta": kinds.RawContentBlockDeltaEvent,
            "content_block_stop": kinds.RawContentBlockStopEvent,
            "message_delta": kinds.RawMessageDeltaEvent,
            "message_stop": kinds.RawMessageStopEvent,
        }

    def client(self, base_url):
        # This SDK adds the version to the address by itself.
        return self.sdk.Anthropic(base_url=base_url.removesuffix("/v1"), api_key="none", max_retries=0)

    def send(self, client, body):
        for _ in client.messages.create(**body):
            pass

    def stream(self, thought, answer, calls):
        """A reply, written by the SDK's types."""
        frames = []

        def event(kind, **values):
            made = self.events[kind].model_validate({"type": kind, **values})
            frames.append(f"event: {kind}\ndata: {made.model_dump_json()}\n\n")

        def block(index, start, deltas):
            event("content_block_start", index=index, content_block=start)
            for delta in deltas:
                event("content_block_delta", index=index, delta=delta)
            event("content_block_stop", index=index)

        event(
            "message_start",
            message={
                "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
                "stop_sequence": None, "usage": {"input_tokens": 100, "output_tokens": 1},
            },
        )
        index = 0
        if thought:
            pieces = [{"type": "thinking_delta", "thinking": thought}, {"type": "signature_delta", "signature": "EqQB"}]
            block(index, {"type": "thinking", "thinking": "", "signature": ""}, pieces)
            index += 1
        if answer:
            block(index, {"type": "text", "text": ""}, [{"type": "text_delta", "text": it} for it in answer])
            index += 1
        for call_id, name, arguments in calls:
            pieces = [arguments[start : start + 7] for start in range(0, len(arguments), 7)]
            deltas = [{"type": "input_json_delta", "partial_json": it} for it in pieces]
            start = {"type": "tool_use", "id": call_id, "name": name, "input": {}, "caller": {"type": "direct"}}
            block(index, start, deltas)
            index += 1
        reason = "tool_use" if calls else "end_turn"
        delta = {"stop_reason": reason, "stop_sequence": None}
        event("message_delta", delta=delta, usage={"output_tokens": 5})
        event("message_stop")
        return "".join(frames)

    def read(self, client):
        """What the SDK makes of a stream of our mock server."""
        messages = [{"role": "user", "content": "go"}]
        with client.messages.stream(model="m", max_tokens=100, messages=messages) as stream:
            message = stream.get_final_message()
        blocks = {kind: [block for block in message.content if block.type == kind] for kind in ("thinking", "text", "tool_use")}
        if blocks["thinking"][0].signature != "SIG":
            raise Failed(f"the signature is {blocks['thinking'][0].signature!r}")
        usage = message.usage
        total = usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens
        return {
            "thought": blocks["thinking"][0].thinking, "answer": blocks["text"][0].text,
            "calls": [(call.id, call.name, json.dumps(call.input, ensure_ascii=False)) for call in blocks["tool_use"]],
            "end": message.stop_reason, "figures": (total, usage.cache_read_input_tokens, usage.output_tokens),
        }

    expected_end = "tool_use"
    expected_figures = (100, 60, 10)


# A server that answers from a script.


class Server:
    def __init__(self, replies):
        self.bodies = []
        self.paths = []
        replies = iter(replies)
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                server.paths.append(self.path)
                server.bodies.append(self.rfile.read(int(self.headers["content-length"])))
                data = next(replies).encode()
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def base_url(self):
        return f"http://127.0.0.1:{self.http.server_address[1]}/v1"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()


class Program:
    """The program in a home of its own."""

    def __init__(self, binary, folder, wire, base_url, settings=""):
        self.binary = binary
        self.home, self.work = folder / "home", folder / "work"
        self.home.mkdir(exist_ok=True)
        self.work.mkdir(exist_ok=True)
        (self.work / "AGENTS.md").write_text('Use "tabs".\n')
        (self.work / "pixel.png").write_bytes(PIXEL)
        (self.work / "schema.json").write_text('{"type":"object","properties":{"a":{"type":"string"}}}')
        (self.home / "config.toml").write_text(
            f'model = "m"\nmodel_provider = "interop"\n{settings}\n[model_providers.interop]\nname = "Interop"\n'
            f'base_url = "{base_url}"\nwire_api = "{wire}"\nrequest_max_retries = 0\nstream_max_retries = 0\n'
        )

    def run(self, *args):
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "PELLUCID_HOME": str(self.home)}
        done = subprocess.run([self.binary, *args], cwd=self.work, env=env, capture_output=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise Failed(f"{args} ended with {done.returncode}: {done.stderr.decode()}")
        return done.stdout


# The checks.


def without_extensions(value):
    if isinstance(value, dict):
        return {key: without_extensions(it) for key, it in value.items() if key not in EXTENSIONS}
    if isinstance(value, list):
        return [without_extensions(it) for it in value]
    return value


def check_types(wire, body):
    """The body is what the SDK's types describe, and has nothing that they do not know."""
    body = without_extensions(json.loads(body))
    problem = misfit(body, wire.params, "body")
    if problem:
        raise Failed(f"the SDK's types refuse the body: {problem}")
    marks = json.dumps(body).count('"cache_control"')
    if marks > 4:
        raise Failed(f"{marks} marks of what may be cached; 4 are allowed")


def misfit(value, kind, place):
    """Why a value is not of this kind; nothing if it is. Unknown keys are misfits."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind in (object, typing.Any):
        return None
    if origin in (typing_extensions.Required, typing_extensions.NotRequired, typing.Annotated):
        return misfit(value, args[0], place)
    if origin in (typing.Union, types.UnionType):
        problems = [misfit(value, it, place) for it in args]
        # The deepest misfit is that of the member that was meant.
        return None if None in problems else max(problems, key=lambda it: it.count("."))
    if origin in (typing.Literal, typing_extensions.Literal):
        return None if value in args else f"{place} is {value!r}, not one of {args}"
    if typing_extensions.is_typeddict(kind):
        if not isinstance(value, dict):
            return f"{place} is no object"
        members = typing_extensions.get_type_hints(kind, include_extras=True)
        for key in value:
            if key not in members:
                return f"{place}.{key} is unknown to {kind.__name__}"
        for key, member in members.items():
            if typing.get_origin(member) is typing_extensions.Required and key not in value:
                return f"{place}.{key} is missing for {kind.__name__}"
        problems = (misfit(it, members[key], f"{place}.{key}") for key, it in value.items())
        return next((it for it in problems if it), None)
    if origin is dict:
        if not isinstance(value, dict):
            return f"{place} is no object"
        problems = (misfit(it, args[1], f"{place}.{key}") for key, it in value.items())
        return next((it for it in problems if it), None)
    if origin is not None and args:
        # Lists, under any name.
        if not isinstance(value, list):
            return f"{place} is no list"
        problems = (misfit(it, args[0], f"{place}.{index}") for index, it in enumerate(value))
        return next((it for it in problems if it), None)
    if kind is type(None):
        return None if value is None else f"{place} is not null"
    if kind in (int, float) and isinstance(value, bool):
        return f"{place} is a truth value"
    return None if isinstance(value, kind) else f"{place} is {value!r}, not {kind}"


def first_difference(ours, theirs, place):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in [*ours, *(key for key in theirs if key not in ours)]:
            if key not in ours or key not in theirs:
                return f"{place}.{key} is on one side only"
            found = first_difference(ours[key], theirs[key], f"{place}.{key}")
            if found:
                return found
        return None
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (a, b) in enumerate(zip(ours, theirs)):
            found = first_difference(a, b, f"{place}[{index}]")
            if found:
                return found
        return None
    return None if ours == theirs else f"{place} is {ours!r} here and {theirs!r} there"


TURNS = [
    ("plain", "", []),
    ("effort", 'model_reasoning_effort = "high"', []),
    ("picture and schema", "", ["--image", "pixel.png", "--output-schema", "schema.json"]),
    ("no instructions file", "project_doc_max_bytes = 0", []),
]


# What the check of types must notice, or it would be worth nothing.
TAMPERINGS = [
    lambda body: body.update(zap=1),
    lambda body: body.pop("model"),
    lambda body: body.update(stream="yes"),
    lambda body: body["messages"][0].update(role="wizard"),
    lambda body: body["messages"][-1].pop("content"),
    lambda body: body["tools"][0].update(extra=1),
]


def check_body(wire, options, folder):
    for name, settings, args in TURNS:
        program = Program(options.bin, folder, wire.name, "http://127.0.0.1:9/v1", settings)
        body = program.run("prompt", "--format", "body", *args, "--", 'Say "hé".')
        try:
            check_types(wire, body)
        except Failed as error:
            raise Failed(f"{name}: {error}") from error
        for number, tamper in enumerate(TAMPERINGS):
            tampered = json.loads(body)
            tamper(tampered)
            if not misfit(tampered, wire.params, "body"):
                raise Failed(f"{name}: tampering {number} is not noticed")
    return f"{len(TURNS)} bodies"


def check_sent(wire, options, folder):
    program = Program(options.bin, folder, wire.name, "http://127.0.0.1:9/v1")
    body = json.loads(program.run("prompt", "--format", "body", "--image", "pixel.png", "--", "Hello."))
    with Server([wire.stream("", "ok", [])]) as server:
        wire.send(wire.client(server.base_url), body)
        if server.paths[0].split("?")[0] != f"/v1{wire.path}":
            raise Failed(f"the SDK asks at {server.paths[0]}")
        difference = first_difference(body, json.loads(server.bodies[0]), "body")
    if difference:
        raise Failed(f"the SDK sends something else: {difference}")
    return "1 body"


def check_turn(wire, options, folder):
    replies = [
        wire.stream("I think.", "I plan.", [("c1", "update_plan", PLAN), ("c2", "update_plan", PLAN)]),
        wire.stream("Again.", "", [("c3", "update_plan", PLAN)]),
        wire.stream("", "Grüße 🙂", []),
    ]
    with Server(replies) as server:
        program = Program(options.bin, folder, wire.name, server.base_url)
        said = program.run("exec", "--skip-git-repo-check", "--image", "pixel.png", "--", "go").decode()
        bodies = server.bodies
    if said.strip() != "Grüße 🙂":
        raise Failed(f"the answer is {said!r}")
    if len(bodies) != len(replies):
        raise Failed(f"{len(bodies)} requests instead of {len(replies)}")
    for number, body in enumerate(bodies, 1):
        try:
            check_types(wire, body)
        except Failed as error:
            raise Failed(f"request {number}: {error}") from error
    return f"{len(bodies)} requests"


def check_stream(wire, options, _folder):
    mock = subprocess.Popen([options.mock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        base_url = mock.stdout.readline().strip()
        if wire.name == "messages":
            # The first reply is of the other wire.
            Chat().read(Chat().client(base_url)) if available(Chat) else skip_reply(base_url)
        read = wire.read(wire.client(base_url))
    finally:
        mock.stdin.close()
        mock.wait()
    expected = {
        "thought": "I think about it.", "answer": "Grüße aus dem Norden 🙂",
        "calls": [("c1", "shell", '{"command": ["echo", "é"]}'), ("c2", "shell", "{}")],
        "end": wire.expected_end, "figures": wire.expected_figures,
    }
    if read != expected:
        raise Failed(f"the SDK reads {read}, not {expected}")
    return "1 stream"


def skip_reply(base_url):
    import urllib.request

    urllib.request.urlopen(urllib.request.Request(base_url, data=b"{}")).read()


def available(wire):
    global typing_extensions
    try:
        importlib.import_module(wire.package)
        # Both SDKs depend on it.
        typing_extensions = importlib.import_module("typing_extensions")
    except ImportError:
        return False
    return True


CHECKS = [("body", check_body), ("sent", check_sent), ("turn", check_turn), ("stream", check_stream)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=ROOT / "target/debug/pellucid", help="the program")
    parser.add_argument("--mock", type=Path, default=ROOT / "target/debug/examples/mock_wires", help="the mock server")
    parser.add_argument("--require", action="store_true", help="fail when a check is skipped")
    options = parser.parse_args()
    options.bin, options.mock = options.bin.resolve(), options.mock.resolve()
    n_failed = n_skipped = 0
    for wire_class in (Chat, Messages):
        missing = [str(it) for it in (options.bin, options.mock) if not it.exists()]
        reason = None
        if missing:
            reason = f"{', '.join(missing)} is not built, see interop/README.md"
        elif not available(wire_class):
            reason = f"the package `{wire_class.package}` is not installed"
        if reason:
            n_skipped += len(CHECKS)
            print(f"SKIPPED {wire_class.name}: {reason}")
            continue
        wire = wire_class()
        print(f"{wire.name}: against {wire.package} {wire.sdk.__version__}")
        for name, check in CHECKS:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    print(f"  ok      {name}: {check(wire, options, Path(folder))}")
                except Failed as error:
                    n_failed += 1
                    print(f"  FAILED  {name}: {error}")
    print(f"{n_failed} failed, {n_skipped} skipped")
    return 1 if n_failed or (options.require and n_skipped) else 0


if __name__ == "__main__":
    sys.exit(main())
