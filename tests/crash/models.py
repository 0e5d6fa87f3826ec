"""A language model of this machine for processes of their own: it answers by what it is shown, and
waits on the way when a test says so."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE_S = 30.0


class Model(ThreadingHTTPServer):
    """Answers with what `answer` makes of the JSON that it is shown. What holds the word `hold` it
    answers only when it is let `go`; until then it is `asked`."""

    daemon_threads = True

    def __init__(self, answer: Callable[[Any], list[dict[str, Any]]], *, hold: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.hold = hold
        self.asked = threading.Event()
        self.go = threading.Event()
        self.answered = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        shown = body["messages"][1]["content"]
        if self.server.hold in shown:
            self.server.asked.set()
            assert self.server.go.wait(PATIENCE_S)
        text = json.dumps(self.server.answer(json.loads(shown)))
        choice = {"index": 0, "finish_reason": "stop", "message": {"content": text}}
        told = json.dumps({"choices": [choice], "usage": {"total_tokens": 7}}).encode()
        try:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)
        except OSError:
            return  # whoever asked is no more
        self.server.answered.set()

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@contextmanager
def modelling(answer: Callable[[Any], list[dict[str, Any]]], *, hold: str) -> Iterator[Model]:
    """A model that listens within the block."""
    model = Model(answer, hold=hold)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    try:
        yield model
    finally:
        model.go.set()
        model.shutdown()
        model.server_close()
