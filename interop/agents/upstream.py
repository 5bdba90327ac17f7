"""A server that answers every API format with one short text, and keeps the bodies that it gets."""

import http.server
import json
import threading

ANSWER = "All done."


def sse(events):
    """Server-sent events, each named by its type."""
    lines = []
    for event in events:
        if "type" in event:
            lines.append(f"event: {event['type']}\n")
        lines.append(f"data: {json.dumps(event)}\n\n")
    return "".join(lines).encode()


def responses(number, size):
    usage = {
        "input_tokens": size // 4,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": size // 4 + 3,
    }
    message = {
        "type": "message",
        "id": f"msg_{number}",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": ANSWER, "annotations": []}],
    }
    head = {"id": f"resp_{number}", "object": "response", "status": "in_progress", "output": []}
    done = {**head, "status": "completed", "output": [message], "usage": usage}
    return sse(
        [
            {"type": "response.created", "response": head},
            {"type": "response.output_item.added", "output_index": 0, "item": {**message, "content": []}},
            {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": message["id"], "delta": ANSWER},
            {"type": "response.output_item.done", "output_index": 0, "item": message},
            {"type": "response.completed", "response": done},
        ]
    )


def chat(number, is_stream):
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
    head = {"id": f"chat_{number}", "created": 1, "model": "mock"}
    if not is_stream:
        choice = {"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}
        return json.dumps({**head, "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
    chunk = {**head, "object": "chat.completion.chunk"}
    text = {"index": 0, "delta": {"role": "assistant", "content": ANSWER}, "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    return sse([{**chunk, "choices": [text]}, {**chunk, "choices": [end], "usage": usage}]) + b"data: [DONE]\n\n"


def messages(number, request):
    usage = {"input_tokens": 9, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 1}
    message = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": request.get("model", "mock"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    if not request.get("stream"):
        content = [{"type": "text", "text": ANSWER}]
        return json.dumps({**message, "content": content, "stop_reason": "end_turn"}).encode()
    return sse(
        [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 3}},
            {"type": "message_stop"},
        ]
    )


def gemini(number, is_stream):
    answer = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": ANSWER}]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 12},
        "modelVersion": "mock",
        "responseId": f"g{number}",
    }
    text = json.dumps(answer).encode()
    return b"data: " + text + b"\r\n\r\n" if is_stream else text


class Upstream(http.server.ThreadingHTTPServer):
    """The server. `bodies` has a path and the bytes for every body, in the order of arrival."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies = []
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer("application/json", b'{"data":[],"models":[]}')

    do_HEAD = do_GET

    def do_POST(self):
        body = self.body()
        path = self.path.split("?")[0]
        with self.server.lock:
            number = len(self.server.bodies)
            self.server.bodies.append((path, body))
        try:
            request = json.loads(body)
        except ValueError:
            request = {}
        stream, plain = "text/event-stream", "application/json"
        if path.endswith("/responses"):
            self.answer(stream, responses(number, len(body)))
        elif path.endswith("/chat/completions"):
            self.answer(stream if request.get("stream") else plain, chat(number, request.get("stream")))
        elif path.endswith("/messages"):
            self.answer(stream if request.get("stream") else plain, messages(number, request))
        elif path.endswith(":streamGenerateContent"):
            self.answer(stream, gemini(number, True))
        elif path.endswith(":generateContent"):
            self.answer(plain, gemini(number, False))
        else:
            self.answer(plain, b"{}")

    def body(self):
        if "chunked" not in (self.headers.get("transfer-encoding") or ""):
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        body = b""
        while length := int(self.rfile.readline().strip() or b"0", 16):
            body += self.rfile.read(length)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
