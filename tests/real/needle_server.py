"""An HTTP envelope of ours around a real tool router: `needle_server.py WEIGHTS DEPTH`.

The text is the model's own, byte for byte, in `content`: thinking and calls are not taken apart. The model routes one
question to tools and was not trained on dialogues, so only user and tool messages reach it. An answer is generated
once per (question, tools, sampling) and said again to whoever asks the same, streamed or whole: arms of an experiment
see the same upstream text, and what differs between them is what stands between.

Prints `{"url": …}` once it listens and ends when its standard input is closed. `GET /generations` counts.
"""

import hashlib
import json
import os
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

os.environ.update(NEEDLE_TELEMETRY="0", DO_NOT_TRACK="1")
os.environ.setdefault("RAYON_NUM_THREADS", os.environ.get("THREADS", "1"))

import needle_rs  # noqa: E402  (after its environment)

NAME = "router"
# A marker arrives as one piece, everything else by words, as the model's own tokenizer has it.
PIECE = re.compile(r"</?\w+>|\s*[^\s<]+|\s+|<")


class Model:
    """The engine behind one lock, with every answer that it gave."""

    def __init__(self, weights, depth):
        self.engine = needle_rs.V3Engine.load_with_depth(weights, depth)
        self.lock = threading.Lock()
        self.answers = {}

    def answer(self, question, tools, cap, temperature, seed):
        key = json.dumps([question, tools, cap, temperature, seed])
        with self.lock:
            if key not in self.answers:
                made = self.engine.generate(
                    question, tools, max_new_tokens=cap, temperature=temperature, seed=seed
                )
                written = len(made["token_ids"])
                self.answers[key] = {
                    "id": "chatcmpl-" + hashlib.sha256(key.encode()).hexdigest()[:24],
                    "text": made["text"],
                    "finish": "length" if written >= cap else "stop",
                    "usage": {
                        "prompt_tokens": made["positions"] - written,
                        "completion_tokens": written,
                        "total_tokens": made["positions"],
                    },
                }
            return self.answers[key]


def question_of(messages):
    texts = []
    for message in messages:
        if message.get("role") not in ("user", "tool"):
            continue
        content = message.get("content")
        if isinstance(content, list):
            content = "".join(part.get("text", "") for part in content)
        texts.append(content or "")
    return "\n".join(texts)


def tools_of(body):
    if body.get("tool_choice") == "none":
        return "[]"
    keep = ("name", "description", "parameters")
    functions = [tool["function"] for tool in body.get("tools") or []]
    return json.dumps([{key: one[key] for key in keep if key in one} for one in functions])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def log_message(self, *_):
        pass

    def whole(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, message):
        self.whole({"error": {"message": message, "type": "invalid_request_error"}}, status)

    def do_GET(self):
        if self.path == "/v1/models":
            self.whole({"object": "list", "data": [{"id": NAME, "object": "model", "owned_by": "local"}]})
        elif self.path == "/generations":
            self.whole({"generations": len(self.model.answers)})
        else:
            self.refuse(404, f"no such path: {self.path}")

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path != "/v1/chat/completions":
            return self.refuse(404, f"no such path: {self.path}")
        try:
            body = json.loads(raw)
            question, tools = question_of(body["messages"]), tools_of(body)
        except (ValueError, KeyError, TypeError) as error:
            return self.refuse(400, f"not a chat request: {error!r}")
        cap = body.get("max_completion_tokens") or body.get("max_tokens") or 256
        answer = self.model.answer(
            question, tools, cap, float(body.get("temperature") or 0), int(body.get("seed") or 0)
        )
        envelope = {"id": answer["id"], "created": 0, "model": NAME}
        if body.get("stream"):
            return self.stream(answer, envelope, (body.get("stream_options") or {}).get("include_usage"))
        message = {"role": "assistant", "content": answer["text"]}
        choice = {"index": 0, "message": message, "finish_reason": answer["finish"]}
        return self.whole(
            {**envelope, "object": "chat.completion", "choices": [choice], "usage": answer["usage"]}
        )

    def stream(self, answer, envelope, with_usage):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

        def write(data):
            event = f"data: {data}\n\n".encode()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
            self.wfile.flush()

        def chunk(delta, finish=None):
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            write(json.dumps({**envelope, "object": "chat.completion.chunk", "choices": [choice]}))

        chunk({"role": "assistant", "content": ""})
        for piece in PIECE.findall(answer["text"]):
            chunk({"content": piece})
        chunk({}, answer["finish"])
        if with_usage:
            last = {"object": "chat.completion.chunk", "choices": [], "usage": answer["usage"]}
            write(json.dumps({**envelope, **last}))
        write("[DONE]")
        self.wfile.write(b"0\r\n\r\n")


def main(weights, depth):
    Handler.model = Model(weights, int(depth))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"url": f"http://127.0.0.1:{server.server_address[1]}/v1"}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
