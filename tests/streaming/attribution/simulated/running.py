"""A network that runs, with what faults take hold of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .broker import Broker
from .ends import Receiver, Sender
from .network import Network
from .parts import SECOND, Link, Router, Way
from .plans import Plan


@dataclass(eq=False)
class Running:
    """A network that runs, as faults get hold of it."""

    plan: Plan
    network: Network
    senders: dict[str, Sender]
    receivers: dict[str, list[Receiver]]
    broker: Broker | None = None

    @property
    def receiver(self) -> Receiver:
        return self.receivers["east-west"][0]

    def queue_of(self) -> tuple[Broker, str]:
        assert self.broker is not None
        return self.broker, "inflight.orders"

    def last_links(self) -> list[Link]:
        return self.receiver.links

    def middle(self) -> Router:
        """A router between the sender and the receiver."""
        return self.network.routers["B"]

    def first_way(self) -> Way:
        start = self.network.routers["A"]
        hop = start.next_hop[self.receiver.at.name]
        return next(way for way in self.network.ways if {way.one, way.other} == {"A", hop})

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        self.network.after(int(seconds * SECOND), call)

    def seconds(self, least: int, most: int) -> float:
        return self.network.rng.uniform(least, most)
