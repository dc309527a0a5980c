"""`inflight ping` against a router that is told what to do with its messages."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from hdrh.histogram import HdrHistogram
from helpers import free_port, wait_until
from relay import Relay
from standin_clients import StandIn

from collectors.config.model import Endpoint
from deploy.commands.ping import command
from deploy.errors import Problem
from deploy.ping import execution, show
from deploy.ping.echoing import EchoingPeer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    """One for all tests here; each uses an address of its own."""
    running = StandIn(tmp_path_factory.mktemp("router"), "R")
    yield running
    running.stop()


def _ping(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def _url(router: StandIn) -> str:
    return f"amqp://127.0.0.1:{router.port}"


def test_all_arrive_and_all_files(router: StandIn, tmp_path: Path) -> None:
    """The summary, the rates, the histograms and the samples tell of the same messages."""
    files = {name: tmp_path / name for name in ("hdr", "rates", "samples")}
    result = _ping(
        *(_url(router), "closest/ping", "--count", 60, "--rate", "100/s", "--json"),
        *("--hdr-log", files["hdr"], "--rate-log", files["rates"], "--samples", files["samples"]),
    )
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["sent"] == found["classes"]["received"] == found["response"]["count"] == 60
    assert found["clock"] == {"offset_ns": 0, "bound_ns": 0}
    assert found["cannot_see"]["loss_ratio"] == 3 / 60
    assert found["rate"]["asked"] == pytest.approx(100, rel=0.02)
    assert set(found["response"]["percentiles"]) == {"50", "90", "95"}  # 60 messages tell no p99
    assert _hdr_counts(files["hdr"]) == {"response": 60, "service": 60}
    with files["rates"].open() as lines:
        rates = list(csv.DictReader(lines))
    assert [sum(int(row[name]) for row in rates) for name in ("due", "sent", "received")] == [60, 60, 60]
    samples = pq.read_table(files["samples"]).to_pydict()
    assert samples["seq"] == list(range(60))
    assert set(samples["outcome"]) == {"accepted"}
    assert all(
        sent < received for sent, received in zip(samples["sent_ns"], samples["received_ns"], strict=True)
    )


@pytest.mark.parametrize(
    ("options", "route"),
    [
        (["--flavour", "dispatch", "--listen", "127.0.0.1:0,strip=no"], "route: S.stand-in (20)"),
        (["--flavour", "skupper", "--listen", "127.0.0.1:0,strip=no"], "route: S.stand-in (20)"),
        (
            ["--flavour", "skupper", "--listen", "127.0.0.1:0"],
            "route: not told; routers, not edge ones, tell it on listeners with `stripAnnotations: no`",
        ),
    ],
)
def test_the_route_as_each_router_tells_it(tmp_path: Path, options: list[str], route: str) -> None:
    """Dispatch among a message's annotations, Skupper in front of it; where it is not told, why."""
    running = StandIn(tmp_path, "S", *options)
    try:
        result = _ping(_url(running), "closest/way", "--count", 20, "--rate", "100/s")
    finally:
        running.stop()
    assert [line for line in result.stdout.splitlines() if line.startswith("route")] == [route]


def _hdr_counts(file: Path) -> dict[str, int]:
    """Values in the log by tag, as the hdrhistogram package decodes them."""
    counts: dict[str, int] = {}
    for line in file.read_text().splitlines():
        if line.startswith("Tag="):
            tag, _, _, _, histogram = line.split(",", 4)
            name = tag.removeprefix("Tag=")
            counts[name] = counts.get(name, 0) + HdrHistogram.decode(histogram).get_total_count()
    return counts


def test_lost_messages_are_a_finding(router: StandIn, tmp_path: Path) -> None:
    """Exit status 1, the number in the summary, and which ones in the samples."""
    router.tell(kind="drop", address="closest/lossy", count=3)
    samples = tmp_path / "samples"
    result = _ping(
        *(_url(router), "closest/lossy", "--count", 40, "--rate", "100/s", "--settle", "1s"),
        *("--presettled", "--samples", samples),
    )
    assert result.exit_code == 1, result.output
    assert "sent 40  received 37  refused 0  lost 3 (presettled 3)" in result.stdout
    table = pq.read_table(samples).to_pydict()
    assert len(table["seq"]) == 40
    assert table["received_ns"].count(None) == 3


def test_no_peer() -> None:
    """Nothing listens: one line says so, and the status is that of misuse."""
    result = _ping(f"amqp://127.0.0.1:{free_port()}", "x", "--count", 1, "--connect-timeout", "1s")
    assert result.exit_code == 2
    assert "nothing could be sent to x" in result.stderr
    assert "Connection refused" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("http://x", "a"), "is not a URL like amqps://host:port"),
        (("amqp://u:secret@x", "a"), "must not hold a user or a password"),
        (("amqp://x", "a", "--rate", "fast"), "is not a rate"),
        (("amqp://x", "a", "--size", "10B"), "a message has 64B to 100MB"),
        (("amqp://x", "a", "--user", "u"), "--user and --password-file go together"),
        (("amqp://x", "a", "--receive-login", "u", __file__), "--receive-login goes with --receive-url"),
        (("amqps://x", "a", "--tls-ca", "/nowhere"), "/nowhere cannot be read"),
    ],
)
def test_misuse(arguments: tuple[Any, ...], message: str) -> None:
    """Mistakes are told before anything is sent, without secrets."""
    result = _ping(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "secret" not in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("options", "sends_as", "receives_as"),
    [
        (("--user", "u", "--password-file", __file__), "u", None),
        (("--receive-login", "r", __file__, "--mechanism", "SCRAM-SHA-256"), None, "r"),
        (("--user", "u", "--password-file", __file__, "--receive-login", "r", __file__), "u", "r"),
    ],
)
def test_a_password_is_sent_to_its_own_peer_only(
    monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], sends_as: str | None, receives_as: str | None
) -> None:
    """Sender's and receiver's logins are apart where they connect to different peers."""
    requests = []

    def execute(request: execution.PingRequest, *_: Any, **__: Any) -> None:
        requests.append(request)
        raise Problem("measured")

    monkeypatch.setattr(execution, "execute", execute)
    assert "measured" in _ping("amqp://x", "a", "--receive-url", "amqp://y", *options).stderr
    (request,) = requests
    users = [end.sasl.user if end.sasl else None for end in (request.sender, request.receiver)]
    assert users == [sends_as, receives_as]


def test_ping_pong(router: StandIn) -> None:
    """Round trips through an echoing peer; nothing about clocks has to be known."""
    peer = EchoingPeer(Endpoint(url=(_url(router),)), "closest/echo")
    peer.start()
    try:
        wait_until(lambda: peer.ready, 10, "the echoing peer")
        result = _ping(_url(router), "closest/echo", "--ping-pong", "--count", 30, "--rate", "50/s", "--json")
    finally:
        peer.stop()
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["classes"]["received"] == 30
    assert found["rate"]["asked"] == 50  # also where it took less than a second
    assert found["one_way"]["service"]["50"] == found["service"]["percentiles"]["50"] // 2
    assert peer.echoed == 30


def test_echoes_come_back_where_the_receiver_is_there_last(router: StandIn) -> None:
    """The sender's link is up long before anybody knows to which address messages must ask for echoes."""
    peer = EchoingPeer(Endpoint(url=(_url(router),)), "closest/late-echo")
    peer.start()
    try:
        wait_until(lambda: peer.ready, 10, "the echoing peer")
        with Relay(router.port) as slow:
            slow.slow(0.1)
            result = _ping(
                *(_url(router), "closest/late-echo", "--ping-pong", "--count", 20, "--json"),
                *("--receive-url", f"amqp://127.0.0.1:{slow.port}"),
            )
    finally:
        peer.stop()
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["classes"]["received"] == 20


def test_the_rate_is_of_what_was_delivered(router: StandIn, tmp_path: Path) -> None:
    """Not of the sender's burst into the peer's buffers, which keep it for up to 2 s."""
    router.tell(kind="delay", address="closest/burst", jitter_ms=2_000, reorder=True, seed=14)
    samples = tmp_path / "samples"
    result = _ping(
        *(_url(router), "closest/burst", "--count", 200, "--rate", "0"),
        *("--json", "--samples", samples),
    )
    assert result.exit_code == 0, result.output
    rate = json.loads(result.stdout)["rate"]
    table = pq.read_table(samples).to_pydict()
    seconds = (max(table["received_ns"]) - min(table["received_ns"])) / 1e9
    assert rate["asked"] is None
    assert rate["seconds"] == pytest.approx(seconds, abs=0.001)
    assert rate["got"] == pytest.approx(199 / seconds, rel=0.001)
    assert max(table["sent_ns"]) - min(table["sent_ns"]) < seconds * 1e9 / 2  # it was a burst


def test_what_is_still_coming_in_is_not_lost(router: StandIn) -> None:
    """However short --settle is: it counts from the last arrival."""
    router.tell(kind="delay", address="closest/slow", ms=2_500)
    result = _ping(
        *(
            _url(router),
            "closest/slow",
            "--count",
            150,
            "--rate",
            "100/s",
            "--settle",
            "500ms",
            "--presettled",
        )
    )
    assert result.exit_code == 0, result.output
    assert "sent 150  received 150  refused 0  lost 0" in result.stdout


def test_what_lost_means_is_told(router: StandIn) -> None:
    """A message may come after the end, and --settle is what to change then."""
    router.tell(kind="delay", address="closest/late", ms=60_000)
    result = _ping(
        _url(router), "closest/late", "--count", 3, "--rate", "100/s", "--settle", "500ms", "--presettled"
    )
    assert result.exit_code == 1, result.output
    assert "sent 3  received 0  refused 0  lost 3 (presettled 3)" in result.stdout
    assert "lost: not there when nothing had come for 0.5 s (--settle)" in result.stdout


_RECORD = """
import sys
import numpy as np
import deploy.commands.ping
from collectors.contract.record_codec import decode, encode
from collectors.contract.records import Header, Received
header = Header(
    kind="received", mesh="", path="", address="", source="", target="", role="receiver", name="",
    run="0" * 16, number=0, observed_from_ns=0, frontier_ns=0, senders=0, receivers=0,
)
columns = [np.array([n, n + 1]) for n in (1, 3, 5, 7, 9)]
decode(encode(header, Received.of(*columns, np.array([False, True]), np.zeros(2, np.uint8))))
print([name for name in ("kafka", "pandas", "pyarrow.parquet", "pyarrow.compute") if name in sys.modules])
"""


def test_nothing_is_loaded_that_a_ping_does_not_use() -> None:
    """The first message does not wait for Kafka's client, pandas or Parquet."""
    done = subprocess.run([sys.executable, "-c", _RECORD], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("rate", "line"),
    [
        (
            {"asked": 100.0, "got": 100.061, "seconds": 4.987},
            "rate: asked 100/s, got 100/s, from first to last in 4.987 s",
        ),
        (
            {"asked": None, "got": 112_825.3, "seconds": 0.5},
            "rate: got 113,000/s, from first to last in 0.5 s",
        ),
        (
            {"asked": 1 / 60, "got": 0.0167, "seconds": 240.0},
            "rate: asked 0.0167/s, got 0.0167/s, from first to last in 240 s",
        ),
    ],
)
def test_rates_are_told_by_three_figures(rate: dict[str, Any], line: str) -> None:
    """With the time that they are of; without a wish where there was none."""
    found = _NOTHING | {"rate": rate}
    assert line in show.table(found, ping_pong=False)


_NOTHING: dict[str, Any] = {
    "sent": 0, "classes": {"received": 0, "lost": 0}, "refused": {}, "lost": {}, "unsent": {"guard": 2},
    "late": 0, "duplicate": 0, "redelivered": 0, "reordered": 0, "foreign": 1, "unexpected": 0,
    "negative": 0, "response": None, "service": None, "jitter": None, "rate": None, "clock": None,
    "routes": {}, "flags": [], "stood_still_seconds": 0.0, "cannot_see": None,
}  # fmt: skip


def test_a_ping_that_stood_still_says_so(router: StandIn) -> None:
    """What was due meanwhile is told as not sent, in words; nothing is lost."""
    command = [sys.executable, "-m", "deploy", "ping", _url(router), "closest/still", "--rate", "100/s"]
    pinging = subprocess.Popen(
        [*command, "--count", "500", "--presettled", "--settle", "2s"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert pinging.stderr is not None
    while "sent" not in (line := pinging.stderr.readline()):  # the live line, of each second
        assert line, "it has ended"
    pinging.send_signal(signal.SIGSTOP)
    time.sleep(2)
    pinging.send_signal(signal.SIGCONT)
    shown, _ = pinging.communicate(timeout=60)
    assert pinging.returncode == 0
    assert re.search(r"this process stood still for 2\.\d s: what was due meanwhile was not sent", shown)
    (sent,) = re.findall(r"^sent (\d+)  received \d+  refused 0  lost 0 ", shown, re.MULTILINE)
    (stalled,) = re.findall(r"unsent \(stalled\) (\d+)", shown)
    assert int(sent) + int(stalled) == 500
    assert int(stalled) >= 190


def test_table_of_nothing() -> None:
    """A summary of no messages is still one."""
    lines = show.table(_NOTHING, ping_pong=False)
    assert "rate: " not in "".join(lines)
    assert lines[1:3] == ["sent 0  received 0  lost 0", "foreign 1  unsent (guard) 2"]
