"""Watches one broker from a thread of its own."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from collectors.broker import outcome, poll
from collectors.broker.client import JolokiaClient
from collectors.broker.counters import Tallied, Tally
from collectors.broker.poll import BrokerView, Choice
from collectors.broker.schema import Product
from collectors.config.model import Broker
from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import BROKER
from collectors.contract.untrusted_text import clean
from collectors.polling.context import PollContext
from collectors.polling.errors import PollError
from collectors.polling.poll_metrics import PollResult
from collectors.polling.schedule import PollSchedule, Stop
from collectors.process.trouble import Trouble

_log: Final = logging.getLogger("inflight.collect")

STALE_INTERVALS: Final = 3
CENSUS_POLLS: Final = 12  # how often the queues are counted anew


@dataclass(frozen=True, slots=True)
class BrokerSeen:
    """A broker after a poll: what it said, or why it did not."""

    mesh: str
    broker: str
    view: BrokerView | None
    tallied: Tallied | None
    failure: str | None
    seconds: float
    interval_ns: int


class BrokerCollector:
    """`run` blocks until `stop`; nothing that the broker does ends it. `seen` gets each poll's view."""

    def __init__(
        self,
        name: str,
        broker: Broker,
        context: PollContext,
        stop: Stop,
        seen: Callable[[BrokerSeen], None] = lambda _: None,
    ) -> None:
        self.name = name
        self.tried = False  # whether a poll has come to its end, good or bad
        self._broker = broker
        self._context = context
        self._stop = stop
        self._seen = seen
        self._jolokia = JolokiaClient(broker)
        self._stood_still = context.standstill_check()
        self._schedule = PollSchedule(broker.interval / 1e9, time.monotonic())
        self._product: Product | None = None
        self._choice = Choice()
        self._since_census = CENSUS_POLLS
        self._tally = Tally()
        self._polls = 0
        self._last_ns: int | None = None
        self._trouble = Trouble(_log)
        self._told: set[str] = set()

    def run(self) -> None:
        self._context.poll_metrics.add_target(("broker", self.name))
        while not self._stop.wait(max(0.0, self._schedule.due_seconds - time.monotonic())):
            started = time.monotonic()
            try:
                view = self._poll(started + self._schedule.deadline_seconds)
                self._succeeded(view, time.monotonic() - started)
            except PollError as error:
                self._failed(error.failure, str(error), time.monotonic() - started)
            except Exception:  # noqa: BLE001 -- one broker's error must not end its watching
                _log.exception("broker %s: an unexpected error; starting over", self.name)
                self._failed("bad_reply", "an unexpected error", time.monotonic() - started)
            self._context.poll_metrics.observe_seconds(("broker", self.name), time.monotonic() - started)
            self.tried = True
        self._jolokia.close()

    def _poll(self, until: float) -> BrokerView:
        if self._product is None:
            self._product = poll.detected(self._jolokia.ask(poll.detection(), until))
            if self._product is None:
                raise PollError(
                    "bad_reply",
                    f"{self._broker.jolokia} has neither Artemis' nor ActiveMQ Classic's MBeans; "
                    "is it the broker's Jolokia, or is `target` missing?",
                )
            self._since_census = CENSUS_POLLS
        searches = []
        if self._since_census >= CENSUS_POLLS:
            searches = poll.census(self._product)
            # The first time it is asked alone: the queues may be too many to ask for all.
            if self._polls == 0:
                found = self._jolokia.ask(searches, until)
                self._choice = poll.choose(self._product, self._broker.queues, found)
                searches = []
            self._since_census = 0
        asked = poll.requests(self._product, self._broker.queues, self._choice)
        replies = self._jolokia.ask([*searches, *(item.request for item in asked)], until)
        if searches:
            found = replies[: len(searches)]
            self._choice = poll.choose(self._product, self._broker.queues, found)
        now_ns = (time.time_ns(), time.monotonic_ns())
        view = poll.read(asked, replies[len(searches) :], self._product, self._broker.queues, now_ns)
        if not view.one("broker"):
            self._product = None  # a backup that has no broker yet, or another product at the next start
            raise PollError("bad_reply", f"{self._broker.jolokia} has lost the broker's MBean")
        self._since_census += 1
        return view

    def _succeeded(self, view: BrokerView, seconds: float) -> None:
        self._stood_still()
        self._polls += 1
        tallied = self._tally.feed(view)
        interval_ns = self._broker.interval if self._last_ns is None else view.steady_ns - self._last_ns
        self._last_ns = view.steady_ns
        mesh = self._broker.mesh
        omitted = Counter(dict.fromkeys(("queue", "address"), 0)) + Counter(self._choice.omitted)
        omitted.update(view.omitted)
        self._context.cache.put(
            ("broker", self.name),
            [
                *outcome.samples(mesh, self.name, view, tallied),
                *(
                    ("collector_omitted_series", ("broker", self.name, entity), float(omitted[entity]))
                    for entity in ("queue", "address")
                ),
            ],
            STALE_INTERVALS * self._broker.interval / 1e9,
        )
        self._context.poll_metrics.count_result(("broker", self.name), "ok", view.faults)
        for record in outcome.records(
            self._context.site, mesh, self.name, view, tallied, (self._polls, interval_ns)
        ):
            self._context.publish(BROKER, record)
        self._tell(view, tallied)
        self._schedule.succeeded(time.monotonic())
        self._seen(BrokerSeen(mesh, self.name, view, tallied, None, seconds, interval_ns))

    def _tell(self, view: BrokerView, tallied: Tallied) -> None:
        if self._trouble.text is None and tallied.restarted:
            _log.info("broker %s has restarted", self.name)
        self._trouble.over(f"broker {self.name}: polled again")
        for note in view.notes:
            kind = " ".join(note.split(": ", 2)[:2])
            if kind not in self._told:
                self._told.add(kind)
                _log.warning(
                    "broker %s: %s (told once; counted in inflight_collector_bad_replies_total)",
                    self.name,
                    note,
                )

    def _failed(self, result: PollResult, text: str, seconds: float) -> None:
        if self._stood_still():
            _log.info("broker %s: %s, while this process stood still; polled again at once", self.name, text)
            return
        mesh = self._broker.mesh
        self._context.cache.put(("broker", self.name), [("broker_up", (mesh, self.name), 0.0)])
        self._context.publish(
            BROKER,
            Telemetry(
                site=self._context.site,
                mesh=mesh,
                target=self.name,
                entity="broker",
                at_ns=time.time_ns(),
                interval_ns=self._broker.interval,
                poll=self._polls,
                rows=[{"up": False, "reason": clean(text)}],
            ),
        )
        self._schedule.failed(time.monotonic())
        self._trouble.tell(f"broker {self.name}: {text}")
        self._context.poll_metrics.count_result(
            ("broker", self.name), result
        )  # last: what is counted is shown and told
        self._seen(BrokerSeen(mesh, self.name, None, None, text, seconds, self._broker.interval))
