"""All routers, brokers and meshes of a group, by what the collectors told of them."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass, field
from typing import Final

from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import BROKER, Topic
from streaming.attribution.broker_history import BrokerHistory
from streaming.attribution.mesh_history import MeshHistory
from streaming.attribution.router_history import Link, RouterHistory

MOST_ROUTERS: Final = 2_000
MOST_BROKERS: Final = 1_000


@dataclass(slots=True)
class Network:
    """Histories by name. Names of routers are taken for unique in a group: messages' traces say no more."""

    routers: dict[str, RouterHistory] = field(default_factory=dict)
    brokers: dict[str, BrokerHistory] = field(default_factory=dict)
    meshes: dict[str, MeshHistory] = field(default_factory=dict)
    # Links to end points with their routers, by address and direction; made when it is asked for.
    _ends: dict[tuple[str, str], list[tuple[str, Link]]] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    def take(self, topic: Topic, record: Telemetry, now_ns: int) -> None:
        """Take in a record that came now; raises ValueError where it cannot be read, or there is no room."""
        self._ends = None
        if topic is BROKER:
            broker = self.brokers.get(record.target)
            if broker is None:
                _room(self.brokers, MOST_BROKERS)
                broker = self.brokers[record.target] = BrokerHistory(record.mesh, record.target)
            broker.lateness.take(record.answered_ns, now_ns)
            broker.take(record)
        elif not record.target:
            mesh = self.meshes.get(record.mesh)
            if mesh is None:
                _room(self.meshes, MOST_BROKERS)
                mesh = self.meshes[record.mesh] = MeshHistory(record.mesh)
            mesh.take(record)
        else:
            router = self.routers.get(record.target)
            if router is None:
                _room(self.routers, MOST_ROUTERS)
                router = self.routers[record.target] = RouterHistory(record.mesh, record.target)
            router.lateness.take(record.answered_ns, now_ns)
            router.take(record)

    def ends(self, addresses: tuple[str, ...], direction: str) -> list[tuple[str, Link]]:
        """Return the links of these addresses to end points, each with its router."""
        if self._ends is None:
            self._ends = {}
            for name, router in self.routers.items():
                for link in router.links.values():
                    if link.kind == "end":
                        self._ends.setdefault((link.address, link.direction), []).append((name, link))
        return [found for address in addresses for found in self._ends.get((address, direction), ())]

    def between(self, one: str, other: str, direction: str = "out") -> list[Link]:
        """Return the links of `one` on which it sends to `other`, or gets from there what `other` sends."""
        router = self.routers.get(one)
        links = router.links.values() if router else ()
        wanted = ("router", direction, other)
        return [link for link in links if (link.kind, link.direction, link.peer) == wanted]

    def forget(self, before_ns: int) -> None:
        """Drop what was told before this time."""
        for kept in (self.routers, self.brokers, self.meshes):
            for history in kept.values():
                history.forget(before_ns)
        self._ends = None
        for name in [name for name, router in self.routers.items() if router.heard_ns < before_ns]:
            del self.routers[name]


def _room(kept: Sized, most: int) -> None:
    if len(kept) >= most:
        raise ValueError(f"{most} of a kind are the most that are looked at")
