"""The server of a part: /metrics, /-/healthy, /-/ready, and further routes of its own."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from collectors.http.headers import Hosts
from collectors.http.server import Request, Response, Route, Server, for_known_names
from collectors.process.worker import Worker, joined


class ListenError(Exception):
    """The address cannot be listened on."""


class PartServer:
    """Serves from threads of its own, from construction until `close`; raises ListenError where it cannot.

    `ready` returns why the part is not ready, or None; `text` returns metrics beside the registry's, as text;
    `hosts` are further names of this server. Routes and the registry's collectors are called from
    several threads at once. A stream's iterator is closed when its client or this server goes.
    """

    def __init__(
        self,
        listen: str,
        registry: CollectorRegistry,
        ready: Callable[[], str | None] = lambda: None,
        routes: Mapping[str, Route] | None = None,
        text: Callable[[], str] | None = None,
        hosts: Iterable[str] = (),
    ) -> None:
        host, _, port = listen.rpartition(":")
        host = host.strip("[]")
        metrics = _Metrics(registry, text)
        self._routes: dict[str, Route] = {
            # Beyond the loopback address it is scraped by names that are not known here.
            "/metrics": for_known_names(metrics) if _is_loopback(host) else metrics,
            "/-/healthy": lambda _: Response(b"healthy\n"),
            "/-/ready": lambda _: _ready(joined(self._worker.problem, ready())),
            **(routes or {}),
        }
        try:
            self._server = Server(host, int(port), self._routes, Hosts((host, *hosts)))
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


class _Metrics:
    """The route /metrics; one text answers all requests that came before its writing began."""

    def __init__(self, registry: CollectorRegistry, text: Callable[[], str] | None) -> None:
        self._registry = registry
        self._text = text
        self._lock: Final = threading.Lock()
        self._begun = float("-inf")
        self._newest = Response(b"", "")

    def __call__(self, request: Request) -> Response:
        # `text` is of the first format, which every client takes.
        wanted = request.headers.get("accept", "") if self._text is None else ""
        encode, content_type = choose_encoder(wanted)
        asked = time.monotonic()
        with self._lock:
            if self._begun <= asked or self._newest.content_type != content_type:
                self._begun = time.monotonic()
                body = encode(self._registry)
                if self._text is not None:
                    body += self._text().encode()
                self._newest = Response(body, content_type)
            return self._newest


def _ready(reason: str | None) -> Response:
    return Response(b"ready\n") if reason is None else Response(f"{reason}\n".encode(), status=503)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
