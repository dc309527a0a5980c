"""A small HTTP server: /metrics, /-/healthy, /-/ready, and what else a part wants to serve."""

from __future__ import annotations

import gzip
import io
import logging
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from prometheus_client import CollectorRegistry, disable_created_metrics
from prometheus_client.exposition import choose_encoder

from collectors.worker import Worker, joined

_log: Final = logging.getLogger("inflight.http")

# Without it each counter has a second series, in no catalogue and read by nobody.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the package's own lack

REQUEST_SECONDS: Final = 10.0  # for a request to come whole, and for each piece of an answer to go out
MAX_CONNECTIONS: Final = 64
_TEXT: Final = "text/plain; charset=utf-8"


class ListenError(Exception):
    """The address cannot be listened on."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a route may want to know; `query` holds the last value of each name."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Response:
    """A body in one piece, or pieces that are sent as they come (server-sent events)."""

    body: bytes | Iterable[bytes]
    content_type: str = _TEXT
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Route = Callable[[Request], Response]


class Exposition:
    """Serves from threads of its own, from construction until `close`.

    `ready` tells why the part is not ready, or None; `text` gives families beside the registry's, in
    the text format. Routes and the registry's collectors are called from several threads at once. A stream's
    iterator is closed when its client or this server goes.
    """

    def __init__(
        self,
        listen: str,
        registry: CollectorRegistry,
        ready: Callable[[], str | None] = lambda: None,
        routes: Mapping[str, Route] | None = None,
        text: Callable[[], str] | None = None,
    ) -> None:
        self._routes: dict[str, Route] = {
            "/metrics": lambda request: _metrics(registry, text, request),
            "/-/healthy": lambda _: Response(b"healthy\n"),
            "/-/ready": lambda _: _ready(joined(self._worker.problem, ready())),
            **(routes or {}),
        }
        host, _, port = listen.rpartition(":")
        try:
            self._server = _Server(host.strip("[]"), int(port), self._routes)
        except (OSError, OverflowError, ValueError) as error:
            raise ListenError(
                f"cannot listen on {listen}: {error}; give another address, or end what uses it"
            ) from None
        self._worker = Worker("http", lambda: self._server.serve_forever(0.2))
        self._worker.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        host = str(self._server.server_address[0])
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def close(self) -> None:
        """Stop listening; blocks under a second."""
        self._server.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._worker.join(1)


def _metrics(registry: CollectorRegistry, text: Callable[[], str] | None, request: Request) -> Response:
    # Text of others is of the first format; it is told to all, as it may be.
    wanted = request.headers.get("accept", "") if text is None else ""
    encode, content_type = choose_encoder(wanted)
    body = encode(registry)
    if text is not None:
        body += text().encode()
    if "gzip" in request.headers.get("accept-encoding", ""):
        packed = gzip.compress(body, compresslevel=1)
        return Response(packed, content_type, headers={"Content-Encoding": "gzip"})
    return Response(body, content_type)


def _ready(reason: str | None) -> Response:
    return Response(b"ready\n") if reason is None else Response(f"{reason}\n".encode(), status=503)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128  # of 5 a scrape waits seconds behind some slow clients

    def __init__(self, host: str, port: int, routes: Mapping[str, Route]) -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        self.routes = routes
        self.closing = threading.Event()
        self._slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """As TCPServer's: HTTPServer's looks the host's name up, for nothing, which can take long."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._slots.acquire(blocking=False):
            _refuse(request)
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 -- the base's signature
        _log.debug("connection from %s broke", client_address, exc_info=True)


def _refuse(connection: socket.socket) -> None:
    try:
        connection.settimeout(0)
        connection.send(
            b"HTTP/1.1 503 Too many connections\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        )
    except OSError:
        pass  # the client is gone, which is what was wanted


class _Deadline(io.RawIOBase):
    """Reads from a socket until a moment: a client that sends a byte now and then does not stay for ever."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        super().__init__()
        self._connection = connection
        self._until = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request did not come whole in time")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version = "inflight"
    sys_version = ""
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.rfile = io.BufferedReader(_Deadline(self.connection, REQUEST_SECONDS))

    def do_GET(self) -> None:
        self.close_connection = True
        self.connection.settimeout(REQUEST_SECONDS)
        try:
            parts = urlsplit(self.path)
            query = dict(parse_qsl(parts.query))
        except ValueError:
            self._send(Response(b"not a URL\n", status=400))
            return
        route = self.server.routes.get(parts.path)
        if route is None:
            known = "\n".join(sorted(self.server.routes))
            self._send(Response(f"not found; there is:\n{known}\n".encode(), status=404))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            response = route(Request(parts.path, query, headers))
        except Exception:  # noqa: BLE001 -- one route's error is answered and must not end the server
            _log.exception("answering %s failed", parts.path)
            response = Response(b"an error; see the log\n", status=500)
        self._send(response)

    do_HEAD = do_GET  # noqa: N815 -- the base's names

    def _read_only(self) -> None:
        self.close_connection = True
        self._send(Response(b"GET and HEAD only\n", status=405, headers={"Allow": "GET, HEAD"}))

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _read_only  # noqa: N815 -- the base's names

    def _send(self, response: Response) -> None:
        whole = isinstance(response.body, bytes)
        try:
            self.send_response(response.status)
            self.send_header("Content-Type", response.content_type)
            self.send_header("Connection", "close")
            self.send_header("X-Content-Type-Options", "nosniff")
            if isinstance(response.body, bytes):
                self.send_header("Content-Length", str(len(response.body)))
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "HEAD":
                return
            for piece in [response.body] if isinstance(response.body, bytes) else response.body:
                self.wfile.write(piece)
                if not whole and self.server.closing.is_set():
                    break
        except OSError:
            _log.debug("%s went away before its answer was out", self.client_address)
        finally:
            if not whole and hasattr(response.body, "close"):
                response.body.close()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the base's signature
        _log.debug("%s " + format, self.address_string(), *args)
