"""A plan whose connectors lead through a relay: which port of it stands for which listener. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from collectors.router.topology import EXPECT_SEPARATOR, pair
from deploy.errors import Problem
from deploy.topology.form import LOOPBACK
from deploy.topology.plan import CLIENTS, BrokerLink, Connector, Plan

_CLIENT: Final = "normal"  # the role of a listener for them
_BETWEEN_ROUTERS: Final = ("inter-router", "edge")
Place = tuple[str, int]


@dataclass(frozen=True)
class Passage:
    """The way over a link to the listener that is dialled. Redundant connectors share it."""

    ends: tuple[str, str]
    dialled: str
    role: str  # of the listener, as a router names it; a broker has one for all
    to: Place
    port: int


class Passages:
    """Those of a plan by link; `plan` is the same with connectors that lead through them.

    Each part has one more, for who is no part of the lab: of `clients` and it.
    """

    def __init__(self, plan: Plan, pick_port: Callable[[], int]) -> None:
        if CLIENTS in plan.routers or CLIENTS in plan.brokers:
            raise Problem(f"a part is called {CLIENTS}, as those who are no part of a lab: rename it")
        self._pick_port = pick_port
        self._direct = plan
        self._found: dict[str, Passage] = {}
        routers = {
            name: replace(router, connectors=tuple(self._connector(name, x) for x in router.connectors))
            for name, router in plan.routers.items()
        }
        brokers = {
            name: replace(broker, links=tuple(self._broker_link(name, x) for x in broker.links))
            for name, broker in plan.brokers.items()
        }
        self.plan: Final = replace(plan, routers=routers, brokers=brokers)
        self.clients: Final = {
            part: self._port(pair(CLIENTS, part), part, _CLIENT, place)
            for part in (*plan.routers, *plan.brokers)
            if (place := self._listener(part, _CLIENT)) is not None
        }
        self.by_link: Final[Mapping[str, Passage]] = self._found

    def moves(self, link: str) -> dict[str, Place]:
        """Return where what dials over a link comes to when moved to another part, for each that can."""
        role, plan = self._found[link].role, self._direct
        found = {part: self._listener(part, role) for part in (*plan.routers, *plan.brokers)}
        return {part: place for part, place in found.items() if place is not None}

    def _connector(self, name: str, connector: Connector) -> Connector:
        if connector.to is None:
            return connector  # it leads out of the lab
        place = (connector.host, connector.port)
        port = self._port(pair(name, connector.to), connector.to, connector.role, place)
        return replace(connector, host=LOOPBACK, port=port)

    def _broker_link(self, name: str, link: BrokerLink) -> BrokerLink:
        port = self._port(pair(name, link.to), link.to, "route-container", (link.host, link.port))
        return replace(link, host=LOOPBACK, port=port)

    def _port(self, ends: tuple[str, str], dialled: str, role: str, to: Place) -> int:
        link = EXPECT_SEPARATOR.join(ends)
        if link not in self._found:
            self._found[link] = Passage(ends, dialled, role, to, self._pick_port())
        return self._found[link].port

    def _listener(self, part: str, role: str) -> Place | None:
        if part in self._direct.routers:
            router = self._direct.routers[part]
            ports = (listener.port for listener in router.listeners if listener.role == role)
            return next(((router.address, port) for port in ports), None)
        broker = self._direct.brokers[part]
        return None if role in _BETWEEN_ROUTERS else (broker.address, broker.port)
