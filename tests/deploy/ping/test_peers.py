"""`inflight ping` against peers that hang, hang up or speak something else: one line, and status 2."""

from __future__ import annotations

import itertools
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers import wait_until
from peers import Babbler, Peer, Phased
from standin_clients import StandIn

from collectors.probe.prober import Prober
from deploy.commands.ping import command
from deploy.ping.results import PingResults

pytestmark = pytest.mark.slow

_NO_AMQP = "this port speaks no AMQP 1.0"
_HUNG_UP = "the peer hung up without a reason: its log may say why"
_STILL = "did not answer AMQP yet: it stands still, or speaks something else there"
_NO_LINK = "sender sender-0 is not attached: the peer has not answered yet"


@contextmanager
def _serving(peer: Peer) -> Iterator[Peer]:
    peer.start()
    try:
        yield peer
    finally:
        peer.close()


_QUICK = ("--rate", "50/s", "--settle", "500ms", "--connect-timeout", "1s")


def _fails(url: str, *more: str) -> str:
    """What it says last."""
    done = CliRunner().invoke(command, [url, "inflight/x", *_QUICK, "--count", "5", *more])
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 2
    last = done.stderr.splitlines()[-1]
    assert re.match(r"inflight: nothing could be sent to inflight/x within \d+\.\d s: ", last), last
    return last


@pytest.mark.parametrize(
    ("last", "closes", "said"),
    [
        ("nothing", False, _STILL),
        ("nothing", True, "the peer hung up without a word: a port of TLS, whose URL begins with amqps://"),
        ("header", False, _STILL),
        ("header", True, _HUNG_UP),
        ("open", False, _NO_LINK),
        ("open", True, _HUNG_UP),
        ("begin", False, _NO_LINK),
        ("begin", True, _HUNG_UP),
        ("attach", False, "the peer gives no credit: is the queue full, or does it stand still?"),
        ("attach", True, _HUNG_UP),
        ("credit", True, _HUNG_UP),
    ],
)
def test_a_peer_that_goes_no_further(last: str, closes: bool, said: str) -> None:  # noqa: FBT001
    """In each phase of a connection it stands still, or hangs up each time."""
    with _serving(Phased(last, closes=closes)) as peer:
        assert said in _fails(peer.url)


@pytest.mark.parametrize("words", [b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(64)])
def test_a_peer_that_speaks_something_else(words: bytes) -> None:
    """Another service has the port."""
    with _serving(Babbler(words)) as peer:
        assert _NO_AMQP in _fails(peer.url)


@pytest.mark.parametrize(
    ("peer", "said"),
    [
        (Babbler(b"AMQP\x03\x01\x00\x00"), "this port speaks no TLS: its URL begins with amqp://"),
        (Phased("nothing", closes=True), "the peer hung up in the middle of TLS: its log may say why"),
        (Phased("nothing", closes=False), _STILL),
    ],
)
def test_tls_that_comes_to_nothing(peer: Peer, said: str) -> None:
    """A port without TLS, one that refuses, one that stands still."""
    with _serving(peer):
        assert said in _fails(peer.url.replace("amqp:", "amqps:"))


def test_a_problem_that_comes_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection has one at one moment and none at the next, while no record is there yet."""
    problems = itertools.cycle([["it hung up"], []])
    monkeypatch.setattr(Prober, "problems", lambda _: next(problems))
    monkeypatch.setattr(PingResults, "live", lambda _: None)
    with _serving(Phased("open", closes=True)) as peer:
        _fails(peer.url, "--connect-timeout", "2500ms")  # long enough for a line on the way


@pytest.mark.parametrize(
    "wish", [("--rate", "0", "--count", "1000000"), ("--rate", "1000/s", "--duration", "4s")]
)
def test_a_peer_that_stands_still_in_mid_run(wish: tuple[str, ...], tmp_path: Path) -> None:
    """What it has to take is waited for, not for ever; what is known by then is told all the same."""
    router = StandIn(tmp_path, "R")
    url = f"amqp://127.0.0.1:{router.port}"
    argv = [sys.executable, "-m", "deploy", "ping", url, "closest/x", *_QUICK, *wish]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ping:
        assert ping.stderr is not None
        try:
            wait_until(lambda: " p50 " in next(ping.stderr), 60, "messages on their way", every_seconds=0)
            router.process.send_signal(signal.SIGSTOP)
            told, complained = ping.communicate(timeout=60)
        finally:
            ping.kill()
            router.process.send_signal(signal.SIGCONT)
            router.stop()
    assert ping.returncode == 2
    assert "\nsent " in told
    last = complained.splitlines()[-1]
    assert last.startswith("inflight: not all could be sent to closest/x: nothing more moved within ")
    assert last.endswith("the peer gives no credit: is the queue full, or does it stand still?")
