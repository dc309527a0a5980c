"""The wiring of a lab whose links pass through a relay, and so can be told to fail."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from deploy.embedded.supervise.ports import LOOPBACK, free_port
from deploy.embedded.supervise.process import ProcessSpec
from deploy.embedded.supervise.service import Service
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.lab.relay.faults import KINDS
from deploy.lab.relay.passages import Passages
from deploy.lab.wiring import Argv
from deploy.standin.faults import control
from deploy.topology import plan
from deploy.topology.form import Router, Topology
from deploy.topology.plan import Plan

_PACKETS: Final = ("loss", "reorder")


class Relay(Service):
    """The process that all links of a lab pass through."""

    def __init__(self, supervisor: Supervisor, passages: Passages) -> None:
        super().__init__(supervisor)
        self._folder = supervisor.directory("relay", fresh=True)
        links: dict[str, list[dict[str, str]]] = defaultdict(list)
        for one in passages.all():
            line = {"listen": f"{LOOPBACK}:{one.port}", "to": _text(one.to), "direction": one.direction}
            links[one.link].append(line)
        (self._folder / "links.json").write_text(json.dumps({"control": "control", "links": links}))

    def tell(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Send a command of deploy.lab.relay.control; raises Problem if it is refused, or not answered."""
        self.process.check()
        return control.send(self._folder / "control", command, who="relay")

    def _spec(self) -> ProcessSpec:
        return ProcessSpec(
            name="relay",
            argv=[sys.executable, "-m", "deploy.lab.relay", self._folder / "links.json"],
            ready=lambda: bool(control.send(self._folder / "control", {"do": "list"}, who="relay")),
        )


class Relayed:
    """All parts on the loopback address, and a relay between connectors and listeners.

    `clients` are parts before whose listener for clients is another link, `clients--NAME`; who shall be
    moved between them dials `client_ports[NAME]`.
    """

    verbs: frozenset[str] = frozenset({*KINDS, "clear"})

    def __init__(self, supervisor: Supervisor, *, clients: Sequence[str] = ()) -> None:
        self._supervisor = supervisor
        self._clients = clients
        self.client_ports: dict[str, int] = {}

    def place(self, topology: Topology) -> Plan:
        here = topology.placed(lambda _part: LOOPBACK)
        routers = {name: _open_to_all(router) for name, router in here.routers.items()}
        direct = plan.make(here.model_copy(update={"routers": routers}), lambda _address, _role: free_port())
        self._passages = Passages(direct, free_port, self._clients)
        self.client_ports = self._passages.clients
        return self._passages.plan

    def argv(self, _part: str, argv: Argv) -> Argv:
        return argv

    def start(self) -> None:
        self.relay = Relay(self._supervisor, self._passages).start()

    def tell(self, command: Mapping[str, Any]) -> dict[str, Any]:
        if command["do"] in _PACKETS:
            raise Problem(
                f"{command['do']} is of packets, and this lab's links pass bytes on: it takes a lab with"
                " namespaces, which needs root"
            )
        if command["do"] == "move":
            to = self._passages.other(str(command.get("link")), str(command.get("to")))
            command = {**command, "to": _text(to)}
        told = self.relay.tell(command)
        return {key: value for key, value in told.items() if key != "ok"}


def _open_to_all(router: Router) -> Router:
    """A router to which any other can be moved: one that nobody dials has no listener for routers."""
    if router.mode == "edge":
        return router
    return router.model_copy(update={"mesh_port": free_port(), "edge_port": free_port()})


def _text(place: tuple[str, int]) -> str:
    return f"{place[0]}:{place[1]}"
