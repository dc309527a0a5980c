"""A stand-in as a service."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

from deploy.embedded.programs.router_config import DISPATCH, SKUPPER, RouterSpec
from deploy.embedded.programs.routers import Router
from deploy.embedded.supervise.ports import LOOPBACK
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.standin.faults import control

Flavour = Literal["dispatch", "skupper"]
_SPEAKS_LIKE = {"dispatch": DISPATCH, "skupper": SKUPPER}


class StandIn(Router):
    """A stand-in router; faults are told through the socket `control`."""

    def __init__(self, supervisor: Supervisor, spec: RouterSpec, flavour: Flavour = "dispatch") -> None:
        super().__init__(supervisor, spec)
        self._flavour = flavour
        self.program = _SPEAKS_LIKE[flavour]
        self.control = self._directory / "control"

    def tell(self, command: dict[str, Any]) -> dict[str, Any]:
        """Send a command of deploy.standin.faults.control; raises Problem if it is refused."""
        return control.send(self.control, command)

    @property
    def router_id(self) -> str:
        return f"{self.spec.id}.stand-in"

    def receive_address(self, queue: str) -> str:
        """Return the queue's own address: a stand-in has waypoints in both flavours."""
        return queue

    def _argv(self) -> list[str | Path]:
        spec = self.spec
        argv: list[str | Path] = [sys.executable, "-m", "deploy.standin", "--name", spec.id]
        argv += ["--flavour", self._flavour, "--control", self.control]
        argv += ["--listen", f"{LOOPBACK}:{spec.port},strip=no"]
        argv += ["--listen", f"{LOOPBACK}:{spec.mesh_port},role=inter-router"]
        for peer in spec.peers:
            argv += ["--connect", f"{LOOPBACK}:{peer.mesh_port},name=to-{peer.id}"]
        if spec.broker is not None:
            for queue in spec.broker.queues:
                argv += ["--auto-link", f"{queue}={LOOPBACK}:{spec.broker.port},name={spec.broker.name}"]
        return argv
