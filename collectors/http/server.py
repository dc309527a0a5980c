"""An HTTP server that no slow client can hold up; routes are functions from a request to a response."""

from __future__ import annotations

import contextlib
import gzip
import http
import io
import logging
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from collectors.contract.untrusted_text import shown
from collectors.http import deadline
from collectors.http.headers import Hosts, codings
from collectors.http.places import Places

_log: Final = logging.getLogger("inflight.http")

REQUEST_SECONDS: Final = 10.0  # for a whole request, and for an answer or a piece of one
LINGER_SECONDS: Final = 1.0  # for a client to stop sending what is not read
MAX_HEAD_BYTES: Final = 1 << 16
MAX_REST_BYTES: Final = 1 << 20  # of what is not read
_PIECE_BYTES: Final = 1 << 18
# Connections at a time, apart from each other: for requests that are on their way, and for answers by what is
# asked, so that neither slow clients nor pages stand in the way of health and scrapes. Together they are less
# than the files that a process usually may have open.
MAX_INCOMING: Final = 256
MAX_ANSWERS: Final = {"health": 64, "metrics": 128, "pages": 128}
# A request's header that says that no browser asks: no browser lets a page set one of such a name.
NO_PAGE: Final = "sec-inflight"
_TEXT: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Request:
    """A request, as routes get it; `query` has the last value of each name."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # by names in lower case
    host: str = ""  # the name by which the client asks; empty where it does not say
    hosts: Hosts = field(default_factory=Hosts)

    @property
    def known(self) -> bool:
        """Whether it may be answered: by a name of this server, or for a client that is no browser's page."""
        return not self.host or NO_PAGE in self.headers or self.hosts.knows(self.host)


@dataclass(frozen=True, slots=True)
class Response:
    """A body in one piece, or pieces that are sent as they come (server-sent events)."""

    body: bytes | Iterable[bytes]
    content_type: str = _TEXT
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Route = Callable[[Request], Response]


def for_known_names(route: Route) -> Route:
    """Returns a route that answers only requests by a name of this server; the others are told what to do.

    With another name that leads here, a foreign page could make a browser read what only this network may.
    """

    def answer(request: Request) -> Response:
        if request.known:
            return route(request)
        name = shown(request.host)[:200]
        text = (
            f"{name} is not known as a name of this server. Ask for its address or for localhost,"
            " or write the name into the config, like `export: {hosts: [NAME]}`\n"
        )
        return Response(text.encode(), status=403)

    return answer


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128  # with 5, a scrape waits for seconds behind some slow clients

    def __init__(self, host: str, port: int, routes: Mapping[str, Route], hosts: Hosts) -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        self.routes = routes
        self.hosts = hosts
        self.closing = threading.Event()
        self.incoming = Places(MAX_INCOMING)
        self._answers = {kind: Places(most) for kind, most in MAX_ANSWERS.items()}
        super().__init__((host, port), _Handler)

    def answers(self, path: str) -> Places:
        kind = "health" if path.startswith("/-/") else "metrics" if path == "/metrics" else "pages"
        return self._answers[kind]

    def server_bind(self) -> None:
        """Bind as TCPServer does: HTTPServer also looks up the host's name, which can take long."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        self.incoming.take(request, waiting=True)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.incoming.leave(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 -- the base's signature
        _log.debug("connection from %s broke", client_address, exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version = "inflight"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # else a malformed request gets an answer without a status

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self._reader = deadline.Reader(self.connection, time.monotonic() + REQUEST_SECONDS, MAX_HEAD_BYTES)
        self.rfile = io.BufferedReader(self._reader)

    def do_GET(self) -> None:
        self.close_connection = True
        self.connection.settimeout(REQUEST_SECONDS)
        if self._reader.room <= 0:
            self._refuse(431, "the request's headers are too large")
            return
        hosts = self.headers.get_all("host") or []
        if len(hosts) != 1 and (hosts or self.request_version >= "HTTP/1.1"):
            self._refuse(400, "a request names one host")
            return
        try:
            parts = urlsplit(self.path)
            query = dict(parse_qsl(parts.query))
        except ValueError:
            self._refuse(400, "not a URL")
            return
        headers: dict[str, str] = {}
        for name, value in self.headers.items():
            known = headers.get(name.lower())
            headers[name.lower()] = value if known is None else f"{known}, {value}"
        host = parts.netloc or "".join(hosts)
        request = Request(parts.path, query, headers, host, self.server.hosts)
        with self._place(parts.path) as places:
            if places is not None:
                self._send(self._answer(request), places, codings(headers))

    do_HEAD = do_GET  # noqa: N815 -- the base's names

    def _read_only(self) -> None:
        self.close_connection = True
        self._refuse(405, "GET and HEAD only", Allow="GET, HEAD")

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _read_only  # noqa: N815 -- the base's names

    @contextlib.contextmanager
    def _place(self, path: str) -> Iterator[Places | None]:
        """Yields the places in which this connection has one; answers and yields None where all are taken."""
        places = self.server.answers(path)
        if not places.take(self.connection, waiting=False):
            self._refuse(503, "too many connections; try again")
            yield None
            return
        self.server.incoming.leave(self.connection)
        try:
            yield places
        finally:
            places.leave(self.connection)

    def _answer(self, request: Request) -> Response:
        route = self.server.routes.get(request.path)
        if route is None:
            known = "\n".join(sorted(self.server.routes))
            return Response(f"not found; there is:\n{known}\n".encode(), status=404)
        try:
            return route(request)
        except Exception:  # noqa: BLE001 -- an error of a route is answered, and the server goes on
            _log.exception("answering %s failed", request.path)
            return Response(b"an error; see the log\n", status=500)

    def _refuse(self, status: int, text: str, **headers: str) -> None:
        response = Response(f"{text}\n".encode(), status=status, headers=headers)
        self._send(response, self.server.incoming, ("identity",))

    def _send(self, response: Response, places: Places, accepted: tuple[str, ...]) -> None:
        headers = dict(response.headers)
        try:
            body, status = response.body, response.status
            if status == http.HTTPStatus.OK:
                headers["Vary"] = "Accept-Encoding"
                if not accepted or not (isinstance(body, bytes) or "identity" in accepted):
                    body, status = b"there is no coding of it that you accept\n", 406
                elif isinstance(body, bytes) and accepted[0] == "gzip":
                    body = _packed(body)
                    headers["Content-Encoding"] = "gzip"
            self.send_response(status)
            self.send_header("Content-Type", response.content_type)
            self.send_header("Connection", "close")
            self.send_header("X-Content-Type-Options", "nosniff")
            if isinstance(body, bytes):
                self.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self._send_body(body, places)
        except OSError:
            _log.debug("%s went away before its answer was out", self.client_address)
            deadline.hang_up(self.connection)
        finally:
            if not isinstance(response.body, bytes) and hasattr(response.body, "close"):
                response.body.close()

    def _send_body(self, body: bytes | Iterable[bytes], places: Places) -> None:
        whole = isinstance(body, bytes)
        until = time.monotonic() + REQUEST_SECONDS
        for piece in _pieces(body) if isinstance(body, bytes) else body:
            places.turn(self.connection, waiting=True)
            deadline.send(self.connection, piece, until if whole else time.monotonic() + REQUEST_SECONDS)
            places.turn(self.connection, waiting=False)
            if not whole and self.server.closing.is_set():
                break

    def finish(self) -> None:
        """Read for a moment what the client still sends: it would lose its answer if we closed at once."""
        super().finish()
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(0)
            said = getattr(self, "headers", None) or {}
            if "content-length" not in said and not self.connection.recv(1, socket.MSG_PEEK):
                return
            self.server.incoming.take(self.connection, waiting=True)
            until = time.monotonic() + LINGER_SECONDS
            with deadline.Reader(self.connection, until, MAX_REST_BYTES) as rest:
                while rest.read(MAX_HEAD_BYTES):
                    pass

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the base's signature
        _log.debug("%s " + format, self.address_string(), *args)


@lru_cache(maxsize=2)
def _packed(body: bytes) -> bytes:
    """Returns the body in gzip; kept, as others get the same at the same time."""
    return gzip.compress(body, compresslevel=1)


def _pieces(body: bytes) -> Iterator[memoryview]:
    view = memoryview(body)
    for start in range(0, len(view), _PIECE_BYTES):
        yield view[start : start + _PIECE_BYTES]
