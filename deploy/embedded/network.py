"""A network to watch on a bare machine: Kafka, Artemis, and routers in a line, A - B - C, the broker at C.

with Supervisor(state_dir) as supervisor:
    network = Network(supervisor).start()
    network.routers["A"].url, network.kafka.bootstrap, network.artemis.jolokia_url, network.config()
    network.routers["B"].kill()         # a crash in the middle
    network.routers["B"].start()
    network.wait_connected()
"""

from __future__ import annotations

import time
from typing import Any, Self

from deploy.embedded.programs.artemis import Artemis
from deploy.embedded.programs.kafka import Kafka
from deploy.embedded.programs.router_config import Broker, RouterSpec
from deploy.embedded.programs.routers import RealRouter, Router, real_program
from deploy.embedded.programs.stand_in import Flavour, StandIn
from deploy.embedded.supervise.ports import LOOPBACK
from deploy.embedded.supervise.process import Interrupted
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem

MESH = "demo"
QUEUES = ("inflight.orders",)
_CONNECT_SECONDS = 30.0  # real routers take some 5 s to agree, on an idle machine
_POLL_SECONDS = 0.1


class Network:
    """The programs asked for. Their ports are known before `start`; the supervisor ends them."""

    def __init__(
        self,
        supervisor: Supervisor,
        *,
        kafka: bool = True,
        artemis: bool | Artemis = True,
        routers: bool = True,
        stand_ins: bool = False,
        flavour: Flavour = "dispatch",
        prefix: str = "inflight",
        queues: tuple[str, ...] = QUEUES,
    ) -> None:
        """Make the network; `artemis` may be one that runs already.

        With `stand_ins` the routers are stand-ins even where a real one is on the PATH, which speak like
        those of `flavour`.
        """
        self._supervisor = supervisor
        self.queues = queues
        self.prefix = prefix
        self._kafka = Kafka(supervisor) if kafka else None
        if artemis is True:
            artemis = Artemis(supervisor, queues=queues)
        self._artemis = artemis or None
        self.routers: dict[str, Router] = {}
        if routers:
            program = None if stand_ins else real_program()
            for spec in self._line():
                self.routers[spec.id] = (
                    RealRouter(supervisor, spec, program) if program else StandIn(supervisor, spec, flavour)
                )

    @property
    def kafka(self) -> Kafka:
        if self._kafka is None:
            raise RuntimeError("this network was made without Kafka")
        return self._kafka

    @property
    def artemis(self) -> Artemis:
        if self._artemis is None:
            raise RuntimeError("this network was made without Artemis")
        return self._artemis

    def _line(self) -> list[RouterSpec]:
        broker = Broker(self.artemis.port, self.queues) if self._artemis else None
        a = RouterSpec("A")
        b = RouterSpec("B", peers=(a,))
        c = RouterSpec("C", peers=(b,), broker=broker)
        return [a, b, c]

    def start_kafka(self) -> None:
        """Start Kafka and make its topics, before `start`: for what shall start beside the rest."""
        self.kafka.start()
        self.kafka.make_topics(self.prefix)

    def start(self) -> Self:
        """Start what does not run yet, in order; return when the routers are connected."""
        if self._kafka and not self._kafka.alive:
            self.start_kafka()
        if self._artemis and not self._artemis.alive:
            self._artemis.start()
        for router in self.routers.values():
            router.start()
        self.wait_connected()
        return self

    def wait_connected(self, seconds: float = _CONNECT_SECONDS) -> None:
        """Return when each router reaches every other one, and the links to the broker's queues are active.

        Raises Problem if that takes longer, and Interrupted if the supervisor is asked to stop.
        """
        deadline = time.monotonic() + seconds
        while waiting_for := self._not_connected():
            if self._supervisor.stopping():
                raise Interrupted("the routers")
            if time.monotonic() > deadline:
                raise Problem(f"the routers did not come together in {seconds:g} s: {waiting_for}")
            time.sleep(_POLL_SECONDS)

    def _not_connected(self) -> str | None:
        for name, router in self.routers.items():
            try:
                known = router.nodes()
                if len(known) != len(self.routers):
                    return f"{name} knows only {known}"
                # A router knows of others before it can reach them; until then it releases messages to them.
                for address in known:
                    router.nodes(address)
                if not router.queue_links_active():
                    return f"the links of {name} to the broker are not active"
            except Exception as e:  # noqa: BLE001 -- a starting router may fail in any way
                return f"{name} does not answer its management ({e})"
        return None

    def config(self) -> dict[str, Any]:
        """Return a config of Inflight for this network, without paths, SLOs and defaults."""
        config: dict[str, Any] = {"version": 1, "site": "demo"}
        if self._kafka:
            config["kafka"] = {"servers": [self.kafka.bootstrap], "prefix": self.prefix}
        if self.routers:
            config["meshes"] = {MESH: {"urls": [r.url for r in self.routers.values()], "interval": "1s"}}
            config["endpoints"] = {name: {"url": r.url, "mesh": MESH} for name, r in self.routers.items()}
        if self._artemis:
            config["brokers"] = {
                self.artemis.name: {
                    "jolokia": self.artemis.jolokia_url,
                    "origin": self.artemis.origin,
                    "mesh": MESH,
                    "auth": {"user": self.artemis.user, "password_file": str(self.artemis.password_file)},
                    "interval": "1s",
                    "queues": {"include": ["inflight.*"]},
                }
            }
            config.setdefault("endpoints", {})["broker"] = {
                "url": f"amqp://{LOOPBACK}:{self.artemis.port}",
                "mesh": MESH,
            }
        return config
