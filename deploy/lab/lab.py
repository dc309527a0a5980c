"""A topology run on this machine.

with Supervisor(folder) as supervisor:
    lab = Lab(supervisor, load.from_file(file).topology)
    lab.start()
    lab.wait_connected()
    lab.routers["A"].url, lab.brokers["store"].jolokia_url, lab.config()
    lab.tell({"do": "kill", "part": "B"})
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any, Final

from collectors.router.topology import pair
from deploy.embedded.programs.artemis import Artemis
from deploy.embedded.programs.kafka import Kafka
from deploy.embedded.supervise.ports import LOOPBACK
from deploy.embedded.supervise.service import Service
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.lab import connected, local, monitor
from deploy.lab.brokers import broker
from deploy.lab.routers import RealRouter, Router, StandIn
from deploy.lab.wiring import Direct, Wiring
from deploy.topology.form import Topology
from deploy.topology.plan import CLIENTS
from deploy.topology.programs import PROGRAMS

KAFKA: Final = "kafka"
PREFIX: Final = "inflight"


def _start(part: Service) -> None:
    if not part.alive:
        part.start()


PART_VERBS: Final[Mapping[str, Callable[[Service], object]]] = {
    "kill": Service.kill,
    "stop": Service.stop,
    "start": _start,
    "restart": Service.restart,
    "pause": Service.pause,
    "resume": Service.resume,
}
_CONNECT_SECONDS: Final = 60.0
_log = logging.getLogger("inflight.lab")


class Lab:
    """The parts of a topology, their addresses and ports known before `start`; the supervisor ends them."""

    def __init__(
        self,
        supervisor: Supervisor,
        topology: Topology,
        *,
        wiring: Wiring | None = None,
        stand_ins: bool = False,
        kafka: bool = False,
    ) -> None:
        """With `stand_ins` routers are stand-ins even where the real program is on the PATH."""
        self._supervisor = supervisor
        self.wiring = wiring or Direct()
        self.left_out = local.left_out(topology)
        self.plan = self.wiring.place(local.localized(topology))
        real = not stand_ins and shutil.which(PROGRAMS[topology.program].command) is not None
        router = RealRouter if real else StandIn
        self.routers: dict[str, Router] = {
            name: router(supervisor, self.plan, name) for name in self.plan.routers
        }
        self.brokers: dict[str, Artemis] = {
            name: broker(supervisor, self.plan, name) for name in self.plan.brokers
        }
        self.databases = {b.database.name: b.database for b in self.brokers.values() if b.database}
        self.parts: dict[str, Service] = {**self.routers, **self.databases, **self.brokers}
        for name, part in self.parts.items():
            part.begun_by = partial(self.wiring.argv, name)
        for broker_name, part in self.brokers.items():
            if part.database:  # they reach each other with nothing in between
                part.database.begun_by = partial(self.wiring.argv, broker_name)
        if kafka and KAFKA in self.parts:
            raise Problem(f"a part of the topology is called {KAFKA}, as the Kafka beside it: rename it")
        self._kafka = Kafka(supervisor, folder=f"parts/{KAFKA}") if kafka else None
        if self._kafka is not None:
            self.parts[KAFKA] = self._kafka
        self.links = frozenset(
            [pair(one, other).id for one, other, _ in self.plan.links()]
            + [pair(CLIENTS, part).id for part in self.wiring.clients]
        )
        self._is_wired = False

    @property
    def verbs(self) -> frozenset[str]:
        """What can be told to its parts and links."""
        return self.wiring.verbs | PART_VERBS.keys()

    @property
    def kafka(self) -> Kafka:
        if self._kafka is None:
            raise RuntimeError("this lab was made without Kafka")
        return self._kafka

    def start(self, *names: str) -> None:
        """Start these parts, or all, but for those that run; return when each is ready by itself.

        All at once, but for brokers that dial other brokers: Artemis may give up a mirror for good when its
        first connection is taken and then reset, as a relay does before the other broker listens.
        """
        if not self._is_wired:
            if self.left_out:
                _log.warning("left out here: %s", "; ".join(self.left_out))
            self.wiring.start()
            self._is_wired = True
        dials = {name: self._brokers_from(name) for name in names or self.parts}
        pool = ThreadPoolExecutor(len(dials))
        starting: dict[str, Future[None]] = {}
        try:
            for name in sorted(dials, key=lambda name: len({name, *dials[name]})):  # dialled ones first
                before = [starting[to] for to in dials[name] if to in starting and name not in dials[to]]
                starting[name] = pool.submit(self._start, self.parts[name], before)
            for started in wait(starting.values(), return_when=FIRST_EXCEPTION).done:
                started.result()
        finally:
            pool.shutdown(wait=False)  # where one fails, the others end with the supervisor

    def _brokers_from(self, name: str) -> set[str]:
        """Return the brokers that a broker's links lead to, by way of others included, and databases."""
        found: set[str] = set()
        ways = [name]
        while ways:
            broker = self.plan.brokers.get(ways.pop())
            new = {link.to for link in broker.links} - found if broker else set()
            if broker and broker.database:
                new |= {broker.database.name}
            found |= new
            ways += new
        return found

    def _start(self, part: Service, before: Iterable[Future[None]]) -> None:
        for other in before:
            other.result()
        _start(part)
        if part is self._kafka:
            self._kafka.make_topics(PREFIX)

    def wait_connected(self, seconds: float = _CONNECT_SECONDS) -> None:
        """Return when each router reaches every other one of its mesh, and all links are there.

        Raises Problem, saying who waits for whom, if that takes longer; Interrupted if asked to stop.
        """
        connected.wait_connected(self.plan, self.routers, seconds, self._supervisor.stopping)

    def config(self) -> dict[str, Any]:
        """Return a config of Inflight for this lab, with the paths of the topology."""
        made = monitor.config(self.plan, self.routers, self.brokers)
        for part, port in self.wiring.clients.items():
            made["endpoints"][part]["url"] = f"amqp://{LOOPBACK}:{port}"
        if self._kafka is not None:
            made["kafka"] = {"servers": [self._kafka.bootstrap], "prefix": PREFIX}
        return made

    def tell(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Do what is told to a part, or to a link, whose faults it returns; raises Problem."""
        verb = str(command.get("do"))
        if verb in PART_VERBS:
            name = str(command.get("part"))
            if name not in self.parts:
                raise Problem(f"{verb}: name a `part`, one of {', '.join(self.parts)}")
            part = self.parts[name]
            if (verb, part.alive) in {("start", True), ("resume", False)}:
                return {}  # an action's undo may find that someone has started it by hand, or ended it
            PART_VERBS[verb](part)
            return {}
        if verb in self.wiring.verbs or "link" in command:
            if command.get("link") not in self.links:
                raise Problem(f"{verb}: name a `link`, one of {', '.join(sorted(self.links))}")
            return self.wiring.tell(command)
        raise Problem(f"{verb!r} is none of {', '.join(sorted(self.verbs))}")
