# SPDX-License-Identifier: Apache-2.0
"""An endpoint of chat completions on 127.0.0.1, which answers what it is told to."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


class Endpoint:
    """Answers as it is told to: a status and a body (or its parts) a question, the last for all after it."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.told: dict[str, str] = {}  # headers of every answer
        self.answers: list[tuple[int, Any]] = [(200, completion('{"score": 4}'))]
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert self.path == "/v1/chat/completions"
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.asked.append(json.loads(body))
                outer.headers.append(dict(self.headers))
                status, answer = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                self.send_response(status)
                for name, value in outer.told.items():
                    self.send_header(name, value)
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # who asked may leave
                    for part in answer if isinstance(answer, Iterator) else [answer]:
                        self.wfile.write(part if isinstance(part, bytes) else json.dumps(part).encode())

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def completion(words: Any) -> dict[str, Any]:
    return {"model": "judge-7b-2026", "choices": [{"message": {"role": "assistant", "content": words}}]}
