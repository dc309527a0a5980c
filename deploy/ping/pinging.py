"""Runs one ping: a prober with one path, until its count is reached, its time is over, or it is stopped."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from collectors import amqp
from collectors.config import Endpoint
from collectors.direct import DirectSink
from collectors.paths import Path, Rules
from collectors.probe.prober import Prober, Settings
from collectors.records import SECOND_NS
from collectors.secrets import SecretError
from collectors.units import Step
from deploy.errors import Problem
from deploy.ping.show import live_line
from deploy.ping.tally import Tally

_LINE_SECONDS: Final = 1.0
_LAST_WINDOW_SECONDS: Final = 1.5  # it is over by then, and loss in it is final
_MESH: Final = "ping"


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


def run(wish: Wish, tally: Tally, stop: threading.Event, *, say: Callable[[str], None]) -> None:
    """Blocks to the end; the tally then holds all rows. Problem where the peer cannot be reached."""
    path = path_of(wish)
    endpoints = {"sender": wish.sender, "receiver": wish.receiver}
    for endpoint in endpoints.values():
        _check(endpoint)
    settings = Settings(
        site="ping",
        linger_seconds=wish.settle_ns / 1e9 + _LAST_WINDOW_SECONDS,
        compare_clocks=False,
        stop_when_finished=True,
    )
    lock = threading.Lock()

    def take(record: bytes, key: str) -> None:
        with lock:
            tally.take(record, key)

    sink = DirectSink(take)
    prober = Prober([path], [path], endpoints, sink, settings)
    began = time.monotonic()
    prober.start()
    try:
        _watch(prober, tally, stop, lock, wish, began, say)
    finally:
        reasons = prober.problems() or [prober.not_ready() or "the peer gave no credit"]
        prober.stop()
        sink.close()
    if prober.failure:
        raise Problem(f"{prober.failure}: no figure can be trusted")
    sender = prober.senders[0].sender
    if not sender.sent:
        raise Problem(
            f"nothing could be sent to {wish.address} within {time.monotonic() - began:.1f} s: {reasons[0]}"
        )
    if sink.failed:
        raise Problem(f"{sink.failed} records of this ping could not be counted: no figure can be trusted")


def _watch(
    prober: Prober,
    tally: Tally,
    stop: threading.Event,
    lock: threading.Lock,
    wish: Wish,
    began: float,
    say: Callable[[str], None],
) -> None:
    sender, receiver = prober.senders[0].sender, prober.receivers[0]
    next_line = began + _LINE_SECONDS
    while not prober.ended.is_set() and not stop.wait(0.05):
        now = time.monotonic()
        if not sender.sent and now - began > wish.connect_seconds:
            return
        if now >= next_line:
            next_line += _LINE_SECONDS
            with lock:
                row = tally.live()
            if row is not None:
                say(live_line(row, sender.sent, receiver.received, now - began))
            elif prober.problems():
                say(f"{now - began:5.0f} s  {prober.problems()[0]}")


def _check(endpoint: Endpoint) -> None:
    try:
        for url in endpoint.url:
            amqp.options(url, endpoint.tls, endpoint.sasl)
    except (amqp.AmqpOptionsError, SecretError) as error:
        raise Problem(str(error)) from None


def terminal_line(text: str) -> None:
    """On a terminal each line takes the place of the one before."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
    else:
        sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
