"""The one client of HTTP servers: whatever they do, an exchange ends in time, in an answer or an OSError."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from peers import Dripping, Peer

from collectors.http.client import HttpClient, NoHttpError, get

SECONDS = 0.4
OK = b"HTTP/1.1 200 OK\r\n"


class Scripted(Peer):
    """Answers each request of a connection with the next of its texts, then hangs up."""

    def __init__(self, *answers: bytes) -> None:
        super().__init__()
        self._answers = answers

    def _serve(self, client: socket.socket) -> None:
        with client:
            for answer in self._answers:
                if not client.recv(65_536):
                    return
                client.sendall(answer)


@pytest.fixture
def start() -> Iterator[Callable[[Peer], str]]:
    """Start peers; they end with the test."""
    started: list[Peer] = []

    def begin(peer: Peer) -> str:
        started.append(peer)
        peer.start()
        return f"http://127.0.0.1:{peer.port}/"

    yield begin
    for peer in started:
        peer.close()


def until(seconds: float = SECONDS) -> float:
    return time.monotonic() + seconds


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (b"", b""),
        (b"", b"H"),
        (b"HTTP/1.1 200 O", b"K"),
        (OK, b"a: b\r\n"),
        (OK, b"a"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (OK + b"Content-Length: 1000000\r\n\r\n", b" "),
        (OK + b"\r\n", b" "),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n"),
    ],
)
def test_a_server_that_drips_has_one_deadline_for_all(
    start: Callable[[Peer], str], first: bytes, again: bytes
) -> None:
    """Each piece comes in time, and the whole never does."""
    url = start(Dripping(first, again))
    with pytest.raises((TimeoutError, NoHttpError)) as told:
        get(url, until())
    # The package takes at most a hundred header lines; the rest goes on until the deadline.
    assert isinstance(told.value, TimeoutError) or "100 headers" in str(told.value)


def test_a_server_that_does_not_read_has_the_same(start: Callable[[Peer], str]) -> None:
    """The request does not go out whole."""
    client = HttpClient(start(Dripping(b"", b"")))
    with pytest.raises(TimeoutError):
        client.exchange("POST", "/", until(), b" " * (64 << 20))


def test_a_server_that_does_not_shake_hands_has_the_same(start: Callable[[Peer], str]) -> None:
    """TLS never comes to be."""
    url = start(Dripping(b"", b"")).replace("http:", "https:")
    with pytest.raises(TimeoutError):
        get(url, until())


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00\xff\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/9\r\n\r\n",
        OK + b"Content-Length: 5\r\n\r\n12",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        OK + b"a" * 100_000 + b"\r\n\r\n",
        OK + b"a: b\r\n" * 200 + b"\r\n",
    ],
)
def test_what_is_no_http_is_told_as_that(start: Callable[[Peer], str], answer: bytes) -> None:
    """As an OSError, which everybody who asks expects anyway."""
    with pytest.raises(OSError, match=r"\w") as told:
        get(start(Scripted(answer)), until(10))
    assert not isinstance(told.value, TimeoutError)
    assert str(told.value).isprintable()


def test_answers_are_as_they_came(start: Callable[[Peer], str]) -> None:
    """Whole, in chunks, and until the server's end; a status that is no good is an answer, too."""
    whole, chunks = (
        OK + b"Content-Length: 2\r\n\r\nab",
        OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    )
    for answer in (whole, chunks, OK + b"\r\nab", b"HTTP/1.1 100 Continue\r\n\r\n" + whole):
        assert get(start(Scripted(answer)), until(10))[0::2] == (200, b"ab")
    moved = get(
        start(Scripted(b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n")), until(10)
    )
    assert (moved.status, moved.headers["location"]) == (302, "/x")


def test_a_connection_is_kept_and_made_anew_when_the_server_has_closed_it(
    start: Callable[[Peer], str],
) -> None:
    """Which a server may do whenever it is idle."""
    whole = OK + b"Content-Length: 2\r\n\r\nab"
    peer = Scripted(whole, whole)
    client = HttpClient(start(peer))
    for served in (1, 1, 2, 2):
        assert client.exchange("GET", "/", until(10)).body == b"ab"
        assert peer.served == served
    client.close()


def test_a_host_that_is_no_name_is_told() -> None:
    """The package below raises something else."""
    with pytest.raises(OSError, match="is no name of a host"):
        get(f"http://{'a' * 70}.example/", until())


def test_an_exchange_leaves_no_thread_or_socket_behind(start: Callable[[Peer], str]) -> None:
    """After a failure the connection is closed: the server sees its end."""
    ended = threading.Event()

    class Watching(Peer):
        def _serve(self, client: socket.socket) -> None:
            client.sendall(b"nonsense\r\n\r\n")
            while client.recv(1_000):
                pass
            ended.set()

    client = HttpClient(start(Watching()))
    with pytest.raises(NoHttpError):
        client.exchange("GET", "/", until(10))
    assert ended.wait(10)
