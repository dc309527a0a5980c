"""An HTTP server with answers that a real broker does not give: `FakeJolokia(answer)`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# From the requests of a POST to the HTTP status and the body: JSON, or bytes as they are.
Answer = Callable[[Any], tuple[int, Any]]


class FakeJolokia:
    """Listens on a free port until closed, and keeps the requests."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.bytes_in: list[int] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                requests = json.loads(self.rfile.read(size))
                outer.asked.append(requests)
                outer.bytes_in.append(size)
                outer.headers.append(dict(self.headers.items()))
                status, body = outer.answer(requests)
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/jolokia"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
