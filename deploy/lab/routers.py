"""Routers of a lab as services: real ones where their program is on the PATH, else stand-ins."""

from __future__ import annotations

import shutil
import sys
from abc import abstractmethod
from pathlib import Path
from typing import Any, Final

from collectors.router import schema
from deploy.embedded.supervise.process import ProcessSpec
from deploy.embedded.supervise.service import Service
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.lab import management
from deploy.standin.faults import control
from deploy.topology.outputs import monitor, router, stand_in
from deploy.topology.plan import Plan
from deploy.topology.programs import PROGRAMS

STAND_IN: Final = "stand-in"
_START_SECONDS: Final = 60.0


class Router(Service):
    """One router; it is ready when its management answers."""

    kind: str  # what runs: a program, or the stand-in

    def __init__(self, supervisor: Supervisor, plan: Plan, name: str) -> None:
        super().__init__(supervisor)
        self.name = name
        self.mode = plan.routers[name].router.mode
        self.program = PROGRAMS[plan.topology.program]
        self.url = monitor.url(plan, name)
        self.flavour = schema.FLAVOURS[self.program.stand_in]
        self._directory = supervisor.directory(f"parts/{name}", fresh=True)

    @property
    def router_id(self) -> str:
        """The id by which other routers know it."""
        return self.name

    @property
    def receive_suffix(self) -> str:
        """What is appended to a queue's address by who receives from it."""
        return self.program.receive_suffix

    @property
    def management(self) -> str:
        """The address of its management, for who asks through another router."""
        found = schema.edge_address if self.mode == "edge" else schema.interior_address
        return found(self.router_id)

    @abstractmethod
    def _argv(self) -> list[str | Path]: ...

    def _spec(self) -> ProcessSpec:
        return ProcessSpec(
            name=self.name,
            argv=self._argv(),
            ready=lambda: management.answers(self.url),
            timeout_seconds=_START_SECONDS,
            cwd=self._directory,
        )


class RealRouter(Router):
    """qdrouterd or skrouterd with the configuration that a host would get."""

    def __init__(self, supervisor: Supervisor, plan: Plan, name: str) -> None:
        super().__init__(supervisor, plan, name)
        self.kind = self.program.command
        self.configuration = self._directory / router.file_name(plan)
        self.configuration.write_text(router.configuration(plan, name))

    def _argv(self) -> list[str | Path]:
        return [shutil.which(self.program.command) or self.program.command, "-c", self.configuration]


class StandIn(Router):
    """A stand-in; faults are told through the socket `control`."""

    kind = STAND_IN
    receive_suffix = ""  # it has phases, whomever it speaks like

    def __init__(self, supervisor: Supervisor, plan: Plan, name: str) -> None:
        super().__init__(supervisor, plan, name)
        self.control = self._directory / "control"
        self._arguments = stand_in.arguments(plan, name)

    @property
    def router_id(self) -> str:
        return f"{self.name}.stand-in"

    def tell(self, command: dict[str, Any]) -> dict[str, Any]:
        """Send a command of deploy.standin.faults.control; raises Problem if it is refused."""
        return control.send(self.control, command)

    def _argv(self) -> list[str | Path]:
        return [sys.executable, "-m", "deploy.standin", *self._arguments, "--control", self.control]


def program_on_path() -> str | None:
    """Return the first router program that is on the PATH, or None."""
    return next((name for name, program in PROGRAMS.items() if shutil.which(program.command)), None)
