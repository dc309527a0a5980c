"""The HTTP server that every long-running part serves its metrics with."""

from __future__ import annotations

import gzip
import http.client
import socket
import threading
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, Gauge

from collectors.http.part_server import ListenError, PartServer
from collectors.http.server import Request, Response


@pytest.fixture
def registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    Gauge("inflight_test", "A test.", registry=registry).set(3)
    return registry


def get(server: PartServer, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


@pytest.fixture
def server(registry: CollectorRegistry) -> Iterator[PartServer]:
    def broken(_: Request) -> Response:
        raise ValueError("secret detail")

    server = PartServer(
        "127.0.0.1:0",
        registry,
        routes={"/broken": broken, "/echo": lambda r: Response(r.query["a"].encode())},
    )
    yield server
    server.close()


def test_metrics(server: PartServer) -> None:
    """/metrics is the registry's text, gzipped for who takes that."""
    status, body = get(server, "/metrics")
    assert status == 200
    assert b"inflight_test 3.0\n" in body
    assert gzip.decompress(get(server, "/metrics", **{"Accept-Encoding": "gzip"})[1]) == body
    assert get(server, "/metrics", method="HEAD") == (200, b"")


def test_health(registry: CollectorRegistry) -> None:
    """Healthy at once; ready when the part says so, and why not until then."""
    reasons = ["no connection yet", None]
    server = PartServer("127.0.0.1:0", registry, ready=lambda: reasons.pop(0))
    assert get(server, "/-/healthy") == (200, b"healthy\n")
    assert get(server, "/-/ready") == (503, b"no connection yet\n")
    assert get(server, "/-/ready") == (200, b"ready\n")
    server.close()


def test_bad_requests_are_answered(server: PartServer) -> None:
    """Unknown paths, writes, a failing route and nonsense each get an answer, and the server lives on."""
    assert get(server, "/nope")[0] == 404
    assert get(server, "/metrics", method="POST")[0] == 405
    status, body = get(server, "/broken")
    assert status == 500
    assert b"secret" not in body
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as raw:
        raw.sendall(b"\x00\xff nonsense\r\n\r\n")
        assert b"400" in raw.recv(1000)
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as raw:
        raw.sendall(b"GET http://[/ HTTP/1.1\r\n\r\n")
        assert b"400" in raw.recv(1000)
    assert get(server, "/echo?a=1&a=2") == (200, b"2")


def test_streams(registry: CollectorRegistry) -> None:
    """A route may answer in pieces; its iterator is closed when the client goes."""
    closed = threading.Event()

    def pieces() -> Iterator[bytes]:
        try:
            while True:
                yield b"data: x\n\n"
        finally:
            closed.set()

    server = PartServer(
        "127.0.0.1:0", registry, routes={"/events": lambda _: Response(pieces(), "text/event-stream")}
    )
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    connection.request("GET", "/events")
    answer = connection.getresponse()
    assert answer.read(9) == b"data: x\n\n"
    answer.close()
    connection.close()
    assert closed.wait(5)
    server.close()


def test_an_address_in_use_is_told(server: PartServer, registry: CollectorRegistry) -> None:
    """What cannot be listened on is named, with what to do."""
    with pytest.raises(ListenError, match=rf"cannot listen on 127.0.0.1:{server.port}: .*another address"):
        PartServer(f"127.0.0.1:{server.port}", registry)
