"""How the parts of a lab reach each other: the protocol, and its simplest form, with nothing between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from deploy.embedded.supervise.ports import LOOPBACK, free_port
from deploy.errors import Problem
from deploy.topology import plan
from deploy.topology.form import Topology
from deploy.topology.plan import Plan

Argv = Sequence[str | Path]


class Wiring(Protocol):
    """How the parts of a lab reach each other, and what can be done to their links.

    `place` comes first, then `start`, which the lab calls once, before any part. What a wiring starts ends
    with the supervisor that it was given.
    """

    verbs: frozenset[str]
    clients: Mapping[str, int]  # by part: the port before its own, at the end of the link of `clients` and it

    def place(self, topology: Topology) -> Plan:
        """Return a plan whose addresses and ports are those of this machine, also the ports of connectors."""

    def argv(self, part: str, argv: Argv) -> Argv:
        """Return the command line of a part: as it is, or begun inside the part's namespace."""

    def start(self) -> None: ...

    def tell(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Do one of `verbs` to a link; return the `link` and all its `faults`, as they were told.

        Raises Problem, and then the link is as it was. That there is such a link has been looked at.
        """


class Direct:
    """All parts on the loopback address, each on free ports; a connector leads right to its listener."""

    verbs: frozenset[str] = frozenset()
    clients: Mapping[str, int] = {}

    def place(self, topology: Topology) -> Plan:
        return plan.make(topology.placed(lambda _part: LOOPBACK), lambda _address, _role: free_port())

    def argv(self, _part: str, argv: Argv) -> Argv:
        return argv

    def start(self) -> None:
        pass

    def tell(self, command: Mapping[str, Any]) -> dict[str, Any]:
        raise Problem(f"{command['do']} is not possible here: nothing stands between the parts of this lab")
