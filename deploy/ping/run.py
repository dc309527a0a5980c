"""Runs one ping: a prober with one path, until its count is reached, its time is over, or it is stopped."""

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
from collectors.kafka.in_process import DirectSink
from collectors.probe.prober import Prober, Settings
from deploy.errors import Problem
from deploy.ping.results import Tally
from deploy.ping.show import live_line

_LINE_SECONDS: Final = 1.0
_LAST_WINDOW_SECONDS: Final = 1.5  # it is over by then, and loss in it is final
_FRESH_SECONDS: Final = 1.0
_DRAIN_SECONDS: Final = 600.0
_MESH: Final = "ping"
_NO_CREDIT: Final = "the peer gives no credit: is the queue full, or does it stand still?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
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


def path_of(wish: Wish) -> Path:
    """The one path of a ping; its windows are seconds."""
    rules = Rules(SECOND_NS, wish.settle_ns, 60 * SECOND_NS, 900 * SECOND_NS)
    return Path(
        name="ping",
        flow="ping",
        mesh=_MESH,
        address=wish.address,
        receive_address=wish.receive_address or "",
        source="sender",
        target="receiver",
        via=None,
        multicast=False,
        rate=wish.rate,
        arrivals=wish.arrivals,
        size=wish.size,
        ttl_ns=wish.ttl_ns,
        presettled=wish.presettled,
        durable=wish.durable,
        priority=wish.priority,
        credit=wish.credit,
        senders=1,
        receivers=1,
        warmup_ns=None,
        duration_ns=wish.duration_ns,
        count=wish.count,
        max_backlog=10_000,
        foreign="release",
        selector=None,
        subscription=None,
        rules=rules,
    )


def run(wish: Wish, tally: Tally, stop: threading.Event, *, say: Callable[[str], None]) -> str | None:
    """Blocks to the end; the tally then holds all rows. Why not all of it could be sent, if so.

    Problem where nothing could be.
    """
    path = path_of(wish)
    endpoints = {"sender": wish.sender, "receiver": wish.receiver}
    for endpoint in endpoints.values():
        _check(endpoint)
    settings = Settings(
        site="ping",
        linger_seconds=wish.settle_ns / 1e9 + _LAST_WINDOW_SECONDS,
        drain_seconds=_DRAIN_SECONDS,
        compare_clocks=False,
        stop_when_finished=True,
    )
    lock = threading.Lock()

    def take(record: bytes, key: str) -> None:
        with lock:
            tally.take(record, key)

    def live(seconds: float) -> None:
        with lock:
            row = tally.live()
        sent, received = prober.senders[0].sender.sent, prober.receivers[0].received
        figures = live_line(row, sent, received, seconds) if row else f"{seconds:5.0f} s"
        say("  ".join((figures, *prober.problems()[:1])))

    sink = DirectSink(take)
    prober = Prober([path], [path], endpoints, sink, settings)
    prober.start()
    try:
        obstacle = _watch(prober, stop, wish, live)
    finally:
        prober.stop()
        sink.close()
        tally.stood_still_seconds = prober.stood_still_seconds
    if prober.failure:
        raise Problem(f"{prober.failure}: no figure can be trusted")
    if not prober.senders[0].sender.sent:
        raise Problem(f"nothing could be sent to {wish.address}{obstacle or ''}")
    if sink.failed:
        raise Problem(f"{sink.failed} records of this ping could not be counted: no figure can be trusted")
    return obstacle and f"not all could be sent to {wish.address}: nothing more moved{obstacle}"


def _watch(prober: Prober, stop: threading.Event, wish: Wish, say: Callable[[float], None]) -> str | None:
    """Until it has ended. What was in the way, where sending was given up."""
    bounded = wish.count is not None or wish.duration_ns is not None
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
        # Who set no end to it may be waiting for the peer to come back.
        in_vain = not sender.sent or (bounded and sender.waits_for_peer)
        gives_up = in_vain and idle > wish.connect_seconds
        if obstacle is None and (gives_up or (stop.is_set() and not sender.sent)):
            # A peer that hangs up again and again has just let us in, at some moments.
            fresh = problem if now - seen_at < _FRESH_SECONDS else ""
            obstacle = f" within {idle:.1f} s: {fresh or prober.not_ready() or _NO_CREDIT}"
        if gives_up or stop.is_set():
            prober.end()
        if now >= next_line:
            next_line += _LINE_SECONDS
            say(now - began)
    return obstacle


def _check(endpoint: Endpoint) -> None:
    try:
        for url in endpoint.url:
            read_options(url, endpoint.tls, endpoint.sasl)
    except (AmqpOptionsError, SecretError) as error:
        raise Problem(str(error)) from None


def terminal_line(text: str) -> None:
    """On a terminal each line takes the place of the one before."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
    else:
        sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
