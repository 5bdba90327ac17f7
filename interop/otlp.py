#!/usr/bin/env python3
"""Holds what `pellucid exec` exports against the types of the protocol, from the package `opentelemetry-proto`.

See README.md.
"""

import argparse
import base64
import hashlib
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "conformance"))

try:
    from google.protobuf import json_format, unknown_fields
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
except ImportError:
    json_format = None

from mock_model import MockModel  # noqa: E402

LIMIT_S = 60
PLANTED = "planted-0a1b2c3d"


class Collector:
    """Keeps the bodies of requests by their path."""

    def __init__(self):
        self.bodies = {}
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                owner.bodies.setdefault(self.path, []).append((self.headers["content-type"], body))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def address(self, signal):
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1/{signal}"


def with_base64_ids(value):
    """JSON of the protocol has ids in hexadecimal digits; the package reads JSON of protocol buffers, which has base64."""
    if isinstance(value, list):
        return [with_base64_ids(it) for it in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    return {
        name: base64.b64encode(bytes.fromhex(it)).decode() if name in ids else with_base64_ids(it)
        for name, it in value.items()
    }


def check_known(message):
    """Every field is one that the package knows, at every depth."""
    assert len(unknown_fields.UnknownFieldSet(message)) == 0, message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in value if hasattr(value, "add") else [value]:
                check_known(inner)


def read(kind, content_type, body):
    if content_type == "application/json":
        return json_format.ParseDict(with_base64_ids(json.loads(body)), kind())
    assert content_type == "application/x-protobuf", content_type
    message = kind.FromString(body)
    check_known(message)
    assert len(message.SerializeToString()) == len(body), "the package writes as many bytes as it read"
    return message


def attributes(record):
    return {it.key: it.value for it in record.attributes}


def exported(binary, protocol):
    """Runs a turn and gives the messages by signal, what `replay` says of its requests, and the digests of those that came."""
    collector = Collector()
    script = [[{"call": "shell", "args": {"command": ["bash", "-c", f"echo {PLANTED}"]}}], f"Done {PLANTED}."]
    with tempfile.TemporaryDirectory(prefix="pellucid-interop-") as folder:
        model = MockModel(script).start()
        home, work = pathlib.Path(folder, "home"), pathlib.Path(folder, "work")
        home.mkdir(), work.mkdir()
        exporters = "".join(
            f'{key} = {{ otlp-http = {{ endpoint = "{collector.address(signal)}", protocol = "{protocol}" }} }}\n'
            for key, signal in (("exporter", "logs"), ("trace_exporter", "traces"), ("metrics_exporter", "metrics"))
        )
        (home / "config.toml").write_text(
            'model_provider = "mock"\n[model_providers.mock]\nname = "mock"\n'
            f'base_url = "{model.base_url}"\n[otel]\nschema = "both"\n{exporters}'
        )
        env = {"PATH": os.environ["PATH"], "HOME": folder, "PELLUCID_HOME": str(home), "CODEX_HOME": str(home)}
        run = {"cwd": work, "env": env, "capture_output": True, "text": True, "timeout": LIMIT_S}
        ran = subprocess.run([binary, "exec", "--skip-git-repo-check", f"Work {PLANTED}."], **run)
        assert ran.returncode == 0, ran.stderr
        replayed = subprocess.run([binary, "replay", "--last", "--json"], **run)
        assert replayed.returncode == 0, replayed.stderr
        model.stop()
        posts = [it["body"] for it in model.exchanges if it["method"] == "POST"]
        digests = [hashlib.sha256(body.encode()).hexdigest() for body in posts]
    kinds = {"logs": ExportLogsServiceRequest, "traces": ExportTraceServiceRequest, "metrics": ExportMetricsServiceRequest}
    messages = {}
    for signal, kind in kinds.items():
        bodies = collector.bodies[f"/v1/{signal}"]
        assert all(PLANTED.encode() not in body for _, body in bodies), f"the {signal} have the text of the turn"
        messages[signal] = [read(kind, *it) for it in bodies]
    return messages, json.loads(replayed.stdout), digests


def spans_of(messages):
    return [it for m in messages["traces"] for r in m.resource_spans for s in r.scope_spans for it in s.spans]


def logs_of(messages):
    return [it for m in messages["logs"] for r in m.resource_logs for s in r.scope_logs for it in s.log_records]


def metrics_of(messages):
    return [it for m in messages["metrics"] for r in m.resource_metrics for s in r.scope_metrics for it in s.metrics]


def check(binary, protocol):
    messages, replayed, digests = exported(binary, protocol)
    spans, logs, metrics = spans_of(messages), logs_of(messages), metrics_of(messages)
    chats = sorted((it for it in spans if it.name.startswith("chat ")), key=lambda it: it.start_time_unix_nano)
    assert len(chats) == 2, [it.name for it in spans]
    for n, (span, request, sent) in enumerate(zip(chats, replayed["requests"], digests, strict=True), 1):
        own = attributes(span)
        assert own["pellucid.request.n"].int_value == n
        assert own["pellucid.request.sha256"].string_value == sent, "the digest is that of the body that was sent"
        assert own["pellucid.request.bytes"].int_value == request["bytes"] and request["verdict"] == "equal", request
        assert len(span.trace_id) == 16 and len(span.span_id) == 8 and span.end_time_unix_nano >= span.start_time_unix_nano
    turn = next(it for it in spans if it.name == "invoke_agent pellucid")
    assert all(it.parent_span_id == turn.span_id for it in chats)
    assert {it.event_name for it in logs} >= {"codex.conversation_starts", "codex.user_prompt", "codex.tool_result"}
    for metric in metrics:
        data = getattr(metric, metric.WhichOneof("data"))
        assert data.aggregation_temporality == 1, metric
        for point in data.data_points:
            assert point.time_unix_nano >= point.start_time_unix_nano > 0
            if metric.WhichOneof("data") == "histogram":
                assert sum(point.bucket_counts) == point.count and len(point.bucket_counts) == len(point.explicit_bounds) + 1
    return {it.name for it in spans}, {it.event_name for it in logs}, {it.name for it in metrics}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default=str(ROOT / "target/debug/pellucid"))
    parser.add_argument("--require", action="store_true", help="what is missing is a failure")
    args = parser.parse_args()
    if json_format is None:
        print("SKIPPED otlp: the package opentelemetry-proto is not installed")
        return 1 if args.require else 0
    names = {}
    for protocol in ("json", "binary"):
        names[protocol] = check(args.bin, protocol)
        spans, logs, metrics = names[protocol]
        print(f"ok      {protocol}: {len(spans)} spans, {len(logs)} events, {len(metrics)} metrics by name")
    assert names["json"] == names["binary"], names
    print("ok      both encodings have the same names")
    return 0


if __name__ == "__main__":
    sys.exit(main())
