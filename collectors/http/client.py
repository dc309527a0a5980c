"""An HTTP client whose exchanges are bounded in time and size from end to end, whatever the server does."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from collectors.contract.untrusted_text import shown
from collectors.http import deadline

MAX_REPLY_BYTES: Final = 64 << 20
_CHUNK_BYTES: Final = 1 << 16


class NoHttpError(OSError):
    """The server answered something that is not HTTP."""


class TooLargeError(NoHttpError):
    """The reply is larger than MAX_REPLY_BYTES."""


class Answer(NamedTuple):
    """A server's answer, of any status."""

    status: int
    headers: Mapping[str, str]  # by names in lower case
    body: bytes


class HttpClient:
    """One connection to the server of a URL, kept open between exchanges where the server agrees.

    It uses no proxy and follows no redirection. `context` is called for each new TLS connection.
    """

    def __init__(self, url: str, context: Callable[[], ssl.SSLContext] = ssl.create_default_context) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._context = context if parts.scheme == "https" else None
        self._port = parts.port or (443 if self._context else 80)
        self._connection: _Connection | None = None

    def exchange(
        self, method: str, path: str, until: float, body: bytes | None = None, **headers: str
    ) -> Answer:
        """Returns the answer; raises OSError, and TimeoutError where it is not complete in time.

        `until` is a time of time.monotonic(). Underscores in the names of headers stand for dashes.
        """
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        kept = self._connection is not None
        try:
            try:
                return self._exchange(method, path, until, body, named)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                if not kept:
                    raise
                self.close()  # the server closed an idle connection, which is no failure
                return self._exchange(method, path, until, body, named)
        except http.client.HTTPException as error:
            self.close()
            raise NoHttpError(shown(str(error).strip())[:200] or type(error).__name__) from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _exchange(
        self, method: str, path: str, until: float, body: bytes | None, headers: dict[str, str]
    ) -> Answer:
        if self._connection is None:
            self._connection = _Connection(self._host, self._port)
            self._connection.context = self._context
        connection = self._connection
        connection.until = until
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        data = bytearray()
        while piece := answer.read1(_CHUNK_BYTES):
            data += piece
            if len(data) > MAX_REPLY_BYTES:
                raise TooLargeError(f"over {MAX_REPLY_BYTES >> 20} MiB came")
        if answer.length:
            raise NoHttpError(f"it ended {answer.length} bytes too early")
        answer.close()  # which leaves the connection open for the next request
        if answer.will_close:
            self.close()
        told = {name.lower(): value for name, value in answer.headers.items()}
        return Answer(answer.status, told, bytes(data))


def get(url: str, until: float, **headers: str) -> Answer:
    """Get a URL over a connection of its own; errors and headers are those of `HttpClient.exchange`."""
    parts = urlsplit(url)
    client = HttpClient(url)
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return client.exchange("GET", path, until, None, **headers)
    finally:
        client.close()


class _Connection(http.client.HTTPConnection):
    """A connection of http.client in which every wait ends at `until`."""

    until = 0.0
    context: Callable[[], ssl.SSLContext] | None = None

    def connect(self) -> None:
        context = self.context and self.context()
        self.sock = _connected(self.host, self.port, self.until)
        if context is not None:
            self.sock.settimeout(deadline.left(self.until))
            self.sock = context.wrap_socket(self.sock, server_hostname=self.host)

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        deadline.send(self.sock, data, self.until)

    def response_class(self, sock: socket.socket, **kwargs: Any) -> http.client.HTTPResponse:  # type: ignore[override]  # called as one
        answer = http.client.HTTPResponse(sock, **kwargs)
        answer.fp.close()
        answer.fp = io.BufferedReader(deadline.Reader(sock, self.until))
        return answer


def _connected(host: str, port: int, until: float) -> socket.socket:
    """Connect to the first of the host's addresses that accepts; each gets its share of the time."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise OSError(f"{host!r} is no name of a host") from None
    problem: OSError = OSError(f"{host!r} has no address")
    for number, (family, kind, protocol, _, address) in enumerate(found):
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(deadline.left(until) / (len(found) - number))
            connection.connect(address)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            connection.close()
            problem = error
        else:
            return connection
    raise problem
