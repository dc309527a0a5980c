"""The HTTP server against clients that are slow, many, or not what they say."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import select
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
from helpers import wait_until
from prometheus_client import CollectorRegistry, Gauge

from collectors.http import headers as http_headers
from collectors.http import server as http_server
from collectors.http.headers import Hosts, codings
from collectors.http.part_server import PartServer
from collectors.http.places import Places
from collectors.http.server import Response, for_known_names

LONG = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
LARGE = 16 << 20  # more than any socket's buffers take


@pytest.fixture
def registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    Gauge("inflight_test", "A test.", registry=registry).set(3)
    return registry


@pytest.fixture
def serve(registry: CollectorRegistry) -> Iterator[Callable[..., PartServer]]:
    """Start servers; they end with the test."""
    started: list[PartServer] = []

    def start(listen: str = "127.0.0.1:0", **options: object) -> PartServer:
        started.append(PartServer(listen, registry, **options))  # type: ignore[arg-type]  # as given
        return started[-1]

    yield start
    for server in started:
        server.close()


class SlowClients:
    """So many connections at a time that say `text`, and then nothing; they read nothing, and come again."""

    def __init__(self, port: int, count: int, text: bytes) -> None:
        self._port, self._text = port, text
        self._end = threading.Event()
        self.came = 0
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        while not self._end.is_set():
            with contextlib.suppress(OSError), socket.socket() as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
                client.connect(("127.0.0.1", self._port))
                client.sendall(self._text)
                self.came += 1
                hung_up = select.poll()
                hung_up.register(client, select.POLLRDHUP)
                while not self._end.is_set() and not hung_up.poll(100):
                    pass
            self._end.wait(0.2)

    def close(self) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(10)


def get(server: PartServer, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request(
        method, path, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    answer = connection.getresponse()
    return answer.status, answer.read()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"GET /metr",
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /-/ready HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
        b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_slow_clients_keep_nobody_waiting(serve: Callable[..., PartServer], text: bytes) -> None:
    """A hundred that say no more, or do not read what they asked for; cut off, they come again."""
    large = "#" * LARGE + "\n"
    page = Response(large.encode())
    server = serve(text=lambda: large, routes={"/large": lambda _: page})
    clients = SlowClients(server.port, 100, text)
    wait_until(lambda: clients.came >= 100, 60, "all of them to be there")
    for _ in range(12):
        assert get(server, "/-/ready") == (200, b"ready\n")
        assert get(server, "/-/healthy")[0] == 200
        status, body = get(server, "/metrics", Accept_Encoding="gzip")
        assert status == 200
        assert b"inflight_test 3.0\n" in gzip.decompress(body)
    clients.close()


def test_more_clients_than_places_leave_room_for_one_more(
    serve: Callable[..., PartServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest is served; those that have said nothing for longest are cut off."""
    monkeypatch.setattr(http_server, "MAX_INCOMING", 4)
    server = serve()
    silent = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(8)]
    assert get(server, "/-/healthy")[0] == 200
    assert silent[0].recv(1) == b""
    for client in silent:
        client.close()


def test_places_go_to_who_uses_them() -> None:
    """The one that has waited longest goes; those that are being worked for stay."""
    pairs = [socket.socketpair() for _ in range(5)]
    ours, theirs = zip(*pairs, strict=True)
    places = Places(2)
    assert all(places.take(one, waiting=True) for one in ours[:3])
    assert theirs[0].recv(1) == b"", "it was cut off"
    places.turn(ours[1], waiting=False)
    places.turn(ours[0], waiting=False)  # it has no place any more
    places.turn(ours[2], waiting=True)
    assert places.take(ours[3], waiting=False)
    assert theirs[2].recv(1) == b""
    assert not places.take(ours[4], waiting=True)
    places.leave(ours[1])
    assert places.take(ours[4], waiting=True)
    for one in (*ours, *theirs):
        one.close()


def test_requests_have_one_deadline(
    serve: Callable[..., PartServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that never ends its request is cut off, also when it drips bytes."""
    monkeypatch.setattr(http_server, "REQUEST_SECONDS", 0.3)
    server = serve()
    raw = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    with raw, contextlib.suppress(OSError):
        raw.sendall(b"GET /metrics HTTP/1.1\r\n")
        raw.settimeout(0.02)
        while True:
            raw.sendall(b"a")
            with contextlib.suppress(TimeoutError):
                assert raw.recv(1_000) == b""
                break


def test_answers_that_are_not_taken_end(
    serve: Callable[..., PartServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream whose client reads nothing is closed after its time."""
    monkeypatch.setattr(http_server, "REQUEST_SECONDS", 0.3)
    closed = threading.Event()

    def pieces() -> Iterator[bytes]:
        try:
            while True:
                yield b" " * 100_000
        finally:
            closed.set()

    server = serve(routes={"/events": lambda _: Response(pieces(), "text/event-stream")})
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        raw.sendall(b"GET /events HTTP/1.0\r\n\r\n")
        assert closed.wait(20)


def exchange(server: PartServer, data: bytes) -> bytes:
    """What comes back for these bytes, until the server closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as raw:
        raw.sendall(data)
        found = b""
        while piece := raw.recv(65_536):
            found += piece
    return found


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /-/healthy HTTP/1.0\r\n\r\n", b"200"),
        (b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n", b"200"),
        (b"GET http://localhost/-/healthy HTTP/1.1\r\nHost: x\r\n\r\n", b"200"),
        (b"GET /-/healthy HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /-/healthy HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"400"),
        (b"GET http://[/ HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
        (b"\x00\xff nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/9.9\r\n\r\n", b"505"),
        (b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"501"),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"4"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"a: b\r\n" * 200 + b"\r\n", b"431"),
        (LONG + b"a: " + b"b" * 60_000 + b"\r\nc: " + b"d" * 60_000 + b"\r\n\r\n", b"431"),
    ],
)
def test_requests_by_the_letter(serve: Callable[..., PartServer], request_: bytes, status: bytes) -> None:
    """Each has an answer, which comes whole, and the server lives on."""
    server = serve()
    answer = exchange(server, request_)
    assert answer.split(b" ")[1].startswith(status)
    assert get(server, "/-/healthy")[0] == 200


def test_what_comes_behind_a_request_is_not_answered(serve: Callable[..., PartServer]) -> None:
    """A body, or a second request: the answer of the first is whole all the same, and the connection ends."""
    server = serve(routes={"/large": lambda _: Response(b"x" * 3_000_000)})
    first = b"GET /large HTTP/1.1\r\nHost: localhost\r\n"
    for behind in (b"\r\n" + first + b"\r\n", b"Content-Length: 500000\r\n\r\n" + b"y" * 500_000):
        answer = exchange(server, first + behind)
        assert answer.count(b"HTTP/1.1 200") == 1
        assert answer.count(b"x") >= 3_000_000
    post = b"POST /large HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500000\r\n\r\n" + b"y" * 500_000
    assert b"405" in exchange(server, post)


def test_head_tells_the_length_of_what_get_gives(serve: Callable[..., PartServer]) -> None:
    """And nothing of the body."""
    server = serve(routes={"/ten": lambda _: Response(b"0123456789")})
    answer = exchange(server, b"HEAD /ten HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b"Content-Length: 10\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


def test_only_its_own_names_are_answered(
    serve: Callable[..., PartServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Addresses, localhost, this machine's names and the config's; others are told what to do."""
    monkeypatch.setattr(http_headers.socket, "gethostname", lambda: "Box-7")
    monkeypatch.setattr(http_headers.socket, "getfqdn", lambda: "box-7.example.org.")
    routes = {"/state": for_known_names(lambda _: Response(b"secret")), "/help": lambda _: Response(b"help")}
    server = serve(routes=routes, hosts=("monitor.example",))
    for host in (
        *(
            "127.0.0.1",
            "127.0.0.1:9750",
            "[::1]:9750",
            "192.0.2.7",
            "localhost",
            "LOCALHOST:1",
            "a.localhost",
        ),
        *(
            "box-7",
            "BOX-7:9750",
            "box-7.example.org",
            "box-7.example.org.:80",
            "monitor.example",
            "Monitor.Example:80",
        ),
    ):
        assert get(server, "/state", Host=host) == (200, b"secret"), host
        assert get(server, "/metrics", Host=host)[0] == 200, host
    for host in (
        *("evil.example", "box-7.evil.example", "localhost.evil.example", "127.0.0.1.evil", "evil:1"),
        *("[::1].evil.example", "[::1]evil:80", "localhost:80@evil.example", "localhost:evil"),
    ):
        status, body = get(server, "/state", Host=host)
        assert (status, b"secret" in body) == (403, False), host
        assert f"{host} is not known as a name of this server".encode() in body
        assert b"export: {hosts: [NAME]}" in body
        assert get(server, "/metrics", Host=host)[0] == 403, "it listens for this machine alone"
        assert get(server, "/-/ready", Host=host)[0] == 200
        assert get(server, "/help", Host=host)[0] == 200
    absolute = b"GET http://evil.example/state HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert b" 403 " in exchange(server, absolute)


def test_who_listens_for_others_is_scraped_under_any_name(serve: Callable[..., PartServer]) -> None:
    """Prometheus asks by whatever name it has been given; pages are guarded all the same."""
    server = serve("0.0.0.0:0", routes={"/state": for_known_names(lambda _: Response(b"secret"))})
    assert get(server, "/metrics", Host="inflight.monitoring.svc:9750")[0] == 200
    assert get(server, "/state", Host="inflight.monitoring.svc:9750")[0] == 403


def test_a_full_name_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And only for a name that is not known otherwise: resolvers can be slow."""
    asked: list[int] = []
    monkeypatch.setattr(http_headers.socket, "getfqdn", lambda: asked.append(1) or "full.example")
    hosts = Hosts()
    assert hosts.knows("localhost")
    assert not asked
    assert [hosts.knows(name) for name in ("evil", "full.example", "evil")] == [False, True, False]
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        (None, ("identity",)),
        ("", ("identity",)),
        ("gzip", ("gzip", "identity")),
        ("gzip, deflate, br", ("gzip", "identity")),
        ("GZIP;q=0.5", ("gzip", "identity")),
        ("x-gzip", ("gzip", "identity")),
        ("gzip;q=0", ("identity",)),
        ("gzip; q=0.000 , *", ("identity",)),
        ("deflate", ("identity",)),
        ("*", ("gzip", "identity")),
        ("*;q=0", ()),
        ("*;q=0, gzip", ("gzip",)),
        ("identity", ("identity",)),
        ("identity;q=0", ()),
        ("identity;q=0, gzip", ("gzip",)),
        ("identity;q=1, gzip;q=0.5", ("identity", "gzip")),
        ("identity;q=0.5, *;q=0", ("identity",)),
        ("gzip;q=nonsense", ("identity",)),
        ("gzip;q=nan", ("identity",)),
        ("gzip;q=-1", ("identity",)),
        ("gzip;level=9;q=0", ("identity",)),
    ],
)
def test_codings(said: str | None, taken: tuple[str, ...]) -> None:
    """As RFC 9110 has it: a weight of 0 is a no."""
    assert codings({} if said is None else {"accept-encoding": said}) == taken


def test_bodies_come_in_a_coding_that_is_taken(serve: Callable[..., PartServer]) -> None:
    """All of them, not /metrics alone; 406 where there is none."""
    closed = threading.Event()

    def pieces() -> Iterator[bytes]:
        try:
            yield b"data"
        finally:
            closed.set()

    server = serve(routes={"/a": lambda _: Response(b"text"), "/b": lambda _: Response(pieces())})
    for path in ("/a", "/metrics"):
        plain = get(server, path)
        assert plain[0] == 200
        assert get(server, path, Accept_Encoding="gzip;q=0") == plain
        status, packed = get(server, path, Accept_Encoding="gzip, identity;q=0")
        assert (status, gzip.decompress(packed)) == plain
        assert get(server, path, Accept_Encoding="identity;q=0")[0] == 406
    assert get(server, "/b", Accept_Encoding="gzip") == (200, b"data")
    closed.clear()
    assert get(server, "/b", Accept_Encoding="*;q=0")[0] == 406
