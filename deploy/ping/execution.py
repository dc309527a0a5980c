"""Execution of one ping: a prober with one path, until its count, its time or its user ends it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from collectors.amqp.options import AmqpOptionsError, read_options
from collectors.config.model import Endpoint
from collectors.config.paths import Path, Rules
from collectors.config.secrets import SecretError
from collectors.config.units import Step
from collectors.contract.records import SECOND_NS
from collectors.kafka.in_process_sink import InProcessSink
from collectors.probe.prober import Prober, Settings
from deploy.errors import Problem
from deploy.ping.results import PingResults
from deploy.ping.show import live_line

_LINE_SECONDS: Final = 1.0
_LAST_WINDOW_SECONDS: Final = 1.5  # after so long the last window is over, and loss in it is final
_FRESH_SECONDS: Final = 1.0
_DRAIN_SECONDS: Final = 600.0
_MESH: Final = "ping"
_NO_CREDIT: Final = "the peer gives no credit: is the queue full, or does it stand still?"


@dataclass(frozen=True, slots=True, kw_only=True)
class PingRequest:
    """What was asked for on the command line."""

    sender: Endpoint
    receiver: Endpoint
    address: str
    receive_address: str | None  # None: an address that the peer makes up, for round trips
    rate: tuple[Step, ...]
    arrivals: Literal["constant", "poisson"]
    size: tuple[int, int]
    count: int | None
    duration_ns: int | None
    ttl_ns: int
    settle_ns: int
    presettled: bool
    durable: bool
    priority: int
    credit: int
    connect_seconds: float


def path_of(request: PingRequest) -> Path:
    """Returns the one path of a ping, with windows of one second."""
    rules = Rules(SECOND_NS, request.settle_ns, 60 * SECOND_NS, 900 * SECOND_NS)
    return Path(
        name="ping",
        flow="ping",
        mesh=_MESH,
        address=request.address,
        receive_address=request.receive_address or "",
        source="sender",
        target="receiver",
        via=None,
        multicast=False,
        rate=request.rate,
        arrivals=request.arrivals,
        size=request.size,
        ttl_ns=request.ttl_ns,
        presettled=request.presettled,
        durable=request.durable,
        priority=request.priority,
        credit=request.credit,
        senders=1,
        receivers=1,
        warmup_ns=None,
        duration_ns=request.duration_ns,
        count=request.count,
        max_backlog=10_000,
        foreign="release",
        selector=None,
        subscription=None,
        rules=rules,
    )


def execute(
    request: PingRequest, results: PingResults, stop: threading.Event, *, show: Callable[[str], None]
) -> str | None:
    """Block until the ping is over; `results` has all rows then. `show` gets a line each second.

    Returns the reason where not all could be sent, else None. Raises Problem where nothing could be sent or
    where the figures cannot be trusted.
    """
    path = path_of(request)
    endpoints = {"sender": request.sender, "receiver": request.receiver}
    for endpoint in endpoints.values():
        _check(endpoint)
    settings = Settings(
        site="ping",
        linger_seconds=request.settle_ns / 1e9 + _LAST_WINDOW_SECONDS,
        drain_seconds=_DRAIN_SECONDS,
        compare_clocks=False,
        stop_when_finished=True,
    )
    lock = threading.Lock()

    def take(record: bytes, key: str) -> None:
        with lock:
            results.take(record, key)

    def live(seconds: float) -> None:
        with lock:
            row = results.live()
        sent, received = prober.senders[0].sender.sent, prober.receivers[0].received
        figures = live_line(row, sent, received, seconds) if row else f"{seconds:5.0f} s"
        show("  ".join((figures, *prober.problems()[:1])))

    sink = InProcessSink(take)
    prober = Prober([path], [path], endpoints, sink, settings)
    prober.start()
    try:
        obstacle = _watch(prober, stop, request, live)
    finally:
        prober.stop()
        sink.close()
        results.stood_still_seconds = prober.stood_still_seconds
    if prober.failure:
        raise Problem(f"{prober.failure}: no figure can be trusted")
    if not prober.senders[0].sender.sent:
        raise Problem(f"nothing could be sent to {request.address}{obstacle or ''}")
    if sink.failed:
        raise Problem(f"{sink.failed} records of this ping could not be counted: no figure can be trusted")
    return obstacle and f"not all could be sent to {request.address}: nothing more moved{obstacle}"


def _watch(
    prober: Prober, stop: threading.Event, request: PingRequest, each_second: Callable[[float], None]
) -> str | None:
    """Wait for the prober's end. Returns what was in the way where sending was given up."""
    bounded = request.count is not None or request.duration_ns is not None
    began = moved_at = time.monotonic()
    next_line = began + _LINE_SECONDS
    moved = 0
    problem, seen_at = "", 0.0
    obstacle = None
    while not prober.ended.wait(0.05):
        now, sender = time.monotonic(), prober.senders[0].sender
        if (here := sender.sent + prober.receivers[0].received) != moved:
            moved, moved_at = here, now
        if problems := prober.problems():
            problem, seen_at = problems[0], now
        idle = now - moved_at
        # Without a bound, its user may be waiting for the peer to come back.
        in_vain = not sender.sent or (bounded and sender.waits_for_peer)
        gives_up = in_vain and idle > request.connect_seconds
        if obstacle is None and (gives_up or (stop.is_set() and not sender.sent)):
            # A peer that hangs up again and again is connected at some moments, and has no problem then.
            fresh = problem if now - seen_at < _FRESH_SECONDS else ""
            obstacle = f" within {idle:.1f} s: {fresh or prober.not_ready() or _NO_CREDIT}"
        if gives_up or stop.is_set():
            prober.end()
        if now >= next_line:
            next_line += _LINE_SECONDS
            each_second(now - began)
    return obstacle


def _check(endpoint: Endpoint) -> None:
    try:
        for url in endpoint.url:
            read_options(url, endpoint.tls, endpoint.sasl)
    except (AmqpOptionsError, SecretError) as error:
        raise Problem(str(error)) from None


def terminal_line(text: str) -> None:
    """Write a line to standard error; on a terminal it replaces the line before."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
    else:
        sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
