"""Watches one broker from a thread of its own."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from collectors.broker import links, metrics, poll, records
from collectors.broker.client import JolokiaClient
from collectors.broker.counters import BrokerCounters, CountedBroker
from collectors.broker.poll import QueueSelection
from collectors.broker.products import UNKNOWN
from collectors.broker.replies import read_replies
from collectors.broker.schema import Product
from collectors.broker.snapshot import BrokerSnapshot
from collectors.config.model import Broker
from collectors.contract.topics import BROKER
from collectors.polling.context import PollContext
from collectors.polling.errors import PollError
from collectors.polling.poll_metrics import PollResult
from collectors.polling.schedule import Stop
from collectors.polling.target import STALE_INTERVALS, FaultLog, PolledTarget, log
from collectors.process import wall_clock

SELECT_POLLS: Final = 12  # how often the queues are counted and selected anew


@dataclass(frozen=True, slots=True)
class BrokerStatus:
    """A broker after a poll: what it said, or why it did not."""

    mesh: str
    broker: str
    snapshot: BrokerSnapshot | None
    counted: CountedBroker | None
    failure: str | None
    seconds: float
    interval_ns: int


class BrokerCollector:
    """`run` blocks until `stop`, whatever the broker does. `on_status` gets each poll's result."""

    def __init__(
        self,
        name: str,
        broker: Broker,
        context: PollContext,
        stop: Stop,
        on_status: Callable[[BrokerStatus], None] = lambda _: None,
    ) -> None:
        self.name = name
        self._broker = broker
        self._context = context
        self._stop = stop
        self._on_status = on_status
        self._client = JolokiaClient(broker)
        self._target = PolledTarget("broker", name, f"broker {name}", broker.interval, context)
        self._product: Product | None = None
        self._selection = QueueSelection()
        self._feeding: list[str] = []
        self._since_selection = SELECT_POLLS
        self._counters = BrokerCounters()
        self._polls = 0
        self._run = secrets.token_hex(8)
        self._of_paths = context.queues.get(name, frozenset())
        self._last_ns: int | None = None
        self._faults = FaultLog(self._target.title)

    @property
    def tried(self) -> bool:
        """Whether a poll has come to its end, good or bad."""
        return self._target.tried

    def run(self) -> None:
        while not self._target.wait(self._stop):
            started = time.monotonic()
            try:
                snapshot = self._poll(started + self._target.deadline_seconds)
                self._succeeded(snapshot, time.monotonic() - started)
            except PollError as error:
                self._failed(error.failure, str(error), time.monotonic() - started)
            except Exception:  # noqa: BLE001 -- one broker's error must not end its watching
                log.exception("broker %s: an unexpected error; starting over", self.name)
                self._failed("bad_reply", "an unexpected error", time.monotonic() - started)
            self._target.took(time.monotonic() - started)
        self._client.close()

    def _poll(self, until: float) -> BrokerSnapshot:
        product = self._product or self._detect_product(until)
        searches = []
        if self._since_selection >= SELECT_POLLS:
            searches = poll.name_searches(product)
            # The first time it is asked alone: the queues may be too many to ask for all.
            if self._polls == 0:
                self._select(product, self._client.ask(searches, until))
                searches = []
            self._since_selection = 0
        asked = poll.requests(product, self._broker.queues, self._selection, self._feeding, self._of_paths)
        asked_ns = time.monotonic_ns()
        replies = self._client.ask([*searches, *(item.request for item in asked)], until)
        if searches:
            self._select(product, replies[: len(searches)])
        now_ns = (wall_clock.now_ns(), time.monotonic_ns())
        answers = replies[len(searches) :]
        snapshot = read_replies(asked, answers, product, self._broker.queues, now_ns, self._of_paths)
        snapshot.asked_ns = now_ns[0] - (now_ns[1] - asked_ns)
        if not snapshot.one("broker"):
            self._product = None  # a backup that has no broker yet, or another product at the next start
            raise PollError("bad_reply", f"{self._broker.jolokia} has lost the broker's MBean")
        self._since_selection += 1
        self._feeding = links.feeding(snapshot)
        return snapshot

    def _detect_product(self, until: float) -> Product:
        self._product = poll.detect_product(self._client.ask(poll.product_searches(), until))
        if self._product is None:
            raise PollError(
                "bad_reply",
                f"{self._broker.jolokia} {UNKNOWN}; is it the broker's Jolokia, or is `target` missing?",
            )
        self._since_selection = SELECT_POLLS
        return self._product

    def _select(self, product: Product, found: list[dict[str, object]]) -> None:
        self._selection = poll.select_queues(product, self._broker.queues, found, self._of_paths)

    def _succeeded(self, snapshot: BrokerSnapshot, seconds: float) -> None:
        self._target.answered()
        self._polls += 1
        counted = self._counters.count(snapshot)
        interval_ns = self._broker.interval if self._last_ns is None else snapshot.steady_ns - self._last_ns
        self._last_ns = snapshot.steady_ns
        mesh, site = self._broker.mesh, self._context.site
        omitted = {
            entity: self._selection.omitted.get(entity, 0) + snapshot.omitted.get(entity, 0)
            for entity in ("queue", "address", "link")
        }
        self._context.cache.put(
            ("broker", self.name),
            [
                *metrics.of_broker(mesh, self.name, snapshot, counted, self._broker.link_backlog),
                *metrics.of_omitted(self.name, omitted),
            ],
            STALE_INTERVALS * self._broker.interval / 1e9,
        )
        poll_of = (self._polls, interval_ns)
        for record in records.of_broker(site, mesh, self.name, snapshot, counted, poll_of, self._run):
            self._context.publish(BROKER, record)
        if counted.restarted and not self._target.in_trouble:
            log.info("broker %s has restarted", self.name)
        self._faults.warn(snapshot.notes)
        self._target.succeeded(snapshot.faults)
        self._on_status(BrokerStatus(mesh, self.name, snapshot, counted, None, seconds, interval_ns))

    def _failed(self, result: PollResult, text: str, seconds: float) -> None:
        if self._target.failed_by_standstill(text):
            return
        mesh, site, interval_ns = self._broker.mesh, self._context.site, self._broker.interval
        self._context.cache.put(("broker", self.name), [("broker_up", (mesh, self.name), 0.0)])
        poll_of = (self._polls, interval_ns)
        self._context.publish(
            BROKER, records.of_failure(site, mesh, self.name, wall_clock.now_ns(), text, poll_of, self._run)
        )
        self._target.failed(result, text)
        self._on_status(BrokerStatus(mesh, self.name, None, None, text, seconds, interval_ns))
