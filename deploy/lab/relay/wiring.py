"""The wiring of a lab whose links pass through a relay, and so can be told to fail."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, Final

from deploy import control_socket
from deploy.embedded.supervise.ports import LOOPBACK, free_port
from deploy.embedded.supervise.process import ProcessSpec
from deploy.embedded.supervise.service import Service
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.lab.faults import CLEAR
from deploy.lab.relay.faults import KINDS
from deploy.lab.relay.passages import Passages
from deploy.lab.wiring import Argv
from deploy.topology import plan
from deploy.topology.form import Router, Topology
from deploy.topology.plan import Plan

_SILENT_SECONDS: Final = 10.0
_NEED_PACKETS: Final = ("loss", "reorder")


class Relay(Service):
    """The process that all links of a lab pass through."""

    def __init__(self, supervisor: Supervisor, passages: Passages) -> None:
        super().__init__(supervisor)
        folder = supervisor.directory("parts/relay--links", fresh=True)
        self._file, self._control = folder / "links.json", folder / "control"
        links = {
            link: {
                "ends": passage.ends,
                "dialled": passage.dialled,
                "listen": _text((LOOPBACK, passage.port)),
                "to": _text(passage.to),
                "moves": {part: _text(place) for part, place in passages.moves(link).items()},
            }
            for link, passage in passages.by_link.items()
        }
        self._file.write_text(json.dumps({"control": self._control.name, "links": links}, indent=1))

    def tell(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Send a command of deploy.lab.relay.control; raises Problem if it is refused, or not answered."""
        try:
            answer = control_socket.ask(self._control, command, silent_seconds=_SILENT_SECONDS)
        except TimeoutError:
            raise Problem(
                f"the relay, pid {self.process.pid}, said nothing for {_SILENT_SECONDS:g} s: it stands still,"
                " and with it all links of this lab; let it go on by `kill -CONT`, or start the lab anew"
            ) from None
        except (OSError, ValueError) as error:
            self.process.check()
            raise Problem(
                f"the relay, through which all links of this lab pass, does not answer ({error}): start the"
                " lab anew"
            ) from error
        if "ok" not in answer:
            raise Problem(str(answer.get("problem")))
        told: dict[str, Any] = answer["ok"]
        return told

    def _spec(self) -> ProcessSpec:
        return ProcessSpec(
            name="relay--links",  # no part can be called so
            argv=[sys.executable, "-m", "deploy.lab.relay", self._file],
            ready=lambda: bool(self._ready()),
        )

    def _ready(self) -> dict[str, Any]:
        return control_socket.ask(self._control, {"do": "list"}, silent_seconds=_SILENT_SECONDS)


class Relayed:
    """All parts on the loopback address, and a relay before each listener for other parts and for clients."""

    verbs: frozenset[str] = frozenset({*KINDS, CLEAR})

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self.clients: Mapping[str, int] = {}
        self._passages: Passages | None = None
        self._relay: Relay | None = None

    def place(self, topology: Topology) -> Plan:
        here = topology.placed(lambda _part: LOOPBACK)
        routers = {name: _open_to_all(router) for name, router in here.routers.items()}
        direct = plan.make(here.model_copy(update={"routers": routers}), lambda _address, _role: free_port())
        self._passages = Passages(direct, free_port)
        self.clients = self._passages.clients
        return self._passages.plan

    def argv(self, _part: str, argv: Argv) -> Argv:
        return argv

    @property
    def relay(self) -> Relay:
        if self._relay is None:
            raise RuntimeError("`start` comes before this")
        return self._relay

    def start(self) -> None:
        if self._passages is None:
            raise RuntimeError("`place` comes before `start`")
        self._relay = Relay(self._supervisor, self._passages).start()

    def tell(self, command: Mapping[str, Any]) -> dict[str, Any]:
        if command["do"] in _NEED_PACKETS:
            raise Problem(
                f"{command['do']} is of packets, and a relay passes bytes: it takes a lab wired by"
                " namespaces, which needs root"
            )
        return self.relay.tell(command)


def _open_to_all(router: Router) -> Router:
    """A router that any other can be moved to: one that nobody dials would have no listener for routers."""
    if router.mode == "edge":
        return router
    return router.model_copy(update={"mesh_port": free_port(), "edge_port": free_port()})


def _text(place: tuple[str, int]) -> str:
    return f"{place[0]}:{place[1]}"
