"""A plan whose connectors lead through a relay: which port of it stands for which listener. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from collectors.router.topology import EXPECT_SEPARATOR, pair
from deploy.errors import Problem
from deploy.topology.form import LOOPBACK
from deploy.topology.plan import BrokerLink, Connector, Plan

CLIENTS: Final = "clients"
_BROKER: Final = "route-container"


@dataclass(frozen=True)
class Passage:
    """The way to one listener over a link. Redundant connectors of a link share it."""

    link: str
    part: str  # whose listener it is
    role: str  # of the listener, as the router names it; a broker has one for all
    to: tuple[str, int]
    port: int

    @property
    def direction(self) -> str:
        """Whether what is dialled is the second name of the link or the first."""
        return "to" if self.link.endswith(f"{EXPECT_SEPARATOR}{self.part}") else "from"


class Passages:
    """Those of a plan; `plan` is the same with connectors that lead through them."""

    def __init__(self, plan: Plan, pick_port: Callable[[], int], clients: Iterable[str] = ()) -> None:
        """`clients`: routers and brokers that have one for who is no part of the lab, `clients--NAME`."""
        self._pick_port = pick_port
        self._found: dict[tuple[str, str, tuple[str, int]], Passage] = {}
        self._plan = plan
        routers = {}
        for name, router in plan.routers.items():
            connectors = tuple(self._connector(name, x) for x in router.connectors)
            given = tuple(x.attributes for x in connectors if x.attributes)
            entities = dict(router.router.entities)
            if given:
                entities["connector"] = given
            written = router.router.model_copy(update={"entities": entities})
            routers[name] = replace(router, connectors=connectors, router=written)
        brokers = {
            name: replace(broker, links=tuple(self._broker_link(name, x) for x in broker.links))
            for name, broker in plan.brokers.items()
        }
        self.plan: Final = replace(plan, routers=routers, brokers=brokers)
        self.clients: Final = {name: self._of_clients(name) for name in clients}

    def all(self) -> list[Passage]:
        return list(self._found.values())

    def other(self, link: str, part: str) -> tuple[str, int]:
        """Returns where what dials over a link comes to when it is moved to another part."""
        here = [passage for passage in self._found.values() if passage.link == link]
        if len({passage.part for passage in here}) != 1:
            raise Problem(f"move: {link} is dialled from both ends; only what one end dials can be moved")
        return self._listener(part, here[0].role)

    def _connector(self, name: str, connector: Connector) -> Connector:
        if connector.to is None:
            return connector  # it leads out of the lab
        port = self._port(name, connector.to, connector.role, (connector.host, connector.port))
        attributes = connector.attributes and {**connector.attributes, "host": LOOPBACK, "port": port}
        return replace(connector, host=LOOPBACK, port=port, attributes=attributes)

    def _broker_link(self, name: str, link: BrokerLink) -> BrokerLink:
        return replace(link, host=LOOPBACK, port=self._port(name, link.to, _BROKER, (link.host, link.port)))

    def _port(self, name: str, part: str, role: str, to: tuple[str, int]) -> int:
        return self._passage(pair(name, part).id, part, role, to).port

    def _of_clients(self, name: str) -> int:
        link = f"{CLIENTS}{EXPECT_SEPARATOR}{name}"
        return self._passage(link, name, "normal", self._listener(name, "normal")).port

    def _passage(self, link: str, part: str, role: str, to: tuple[str, int]) -> Passage:
        key = (link, part, to)
        if key not in self._found:
            self._found[key] = Passage(link, part, role, to, self._pick_port())
        return self._found[key]

    def _listener(self, part: str, role: str) -> tuple[str, int]:
        if part in self._plan.brokers and role not in {"inter-router", "edge"}:
            return self._plan.brokers[part].address, self._plan.brokers[part].port
        if part in self._plan.routers:
            router = self._plan.routers[part]
            for listener in router.listeners:
                if listener.role == role:
                    return router.address, listener.port
        raise Problem(f"{part} has no listener of the role {role}; name another part")
