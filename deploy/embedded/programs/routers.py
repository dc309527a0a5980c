"""Routers as services: what all have in common, and the real ones; `stand_in` has the others."""

from __future__ import annotations

import shutil
from abc import abstractmethod
from pathlib import Path

from deploy.embedded.programs import router_management
from deploy.embedded.programs.router_config import PROGRAMS, Program, RouterSpec, configuration
from deploy.embedded.supervise.process import ProcessSpec
from deploy.embedded.supervise.service import Service
from deploy.embedded.supervise.supervisor import Supervisor


class Router(Service):
    """One router; it is ready when its management answers."""

    program: Program

    def __init__(self, supervisor: Supervisor, spec: RouterSpec) -> None:
        super().__init__(supervisor)
        self.spec = spec
        self._directory = supervisor.directory(f"router-{spec.id}", fresh=True)

    @property
    def url(self) -> str:
        return self.spec.url

    @property
    def router_id(self) -> str:
        """The id by which other routers know it."""
        return self.spec.id

    def nodes(self, address: str = router_management.OWN) -> list[str]:
        """Return the management addresses of the routers known to it, or to the one at `address`."""
        return router_management.nodes(self.url, address)

    def queue_links_active(self) -> bool:
        """Whether the auto-links into and out of every queue of its broker are active."""
        wanted = 2 * len(self.spec.broker.queues) if self.spec.broker else 0
        if not wanted:
            return True
        states = router_management.column(
            self.url, self.program.entity_type("router.config.autoLink"), "operStatus"
        )
        return states == ["active"] * wanted

    def receive_address(self, queue: str) -> str:
        """Return the address at which a receiver gets what was sent to the address of the queue."""
        return queue + self.program.receive_suffix

    @abstractmethod
    def _argv(self) -> list[str | Path]: ...

    def _spec(self) -> ProcessSpec:
        return ProcessSpec(
            name=f"router-{self.spec.id}",
            argv=self._argv(),
            ready=lambda: bool(self.nodes()),
            timeout_seconds=20,
            cwd=self._directory,
        )


class RealRouter(Router):
    """qdrouterd or skrouterd with a configuration file."""

    def __init__(self, supervisor: Supervisor, spec: RouterSpec, program: Program) -> None:
        super().__init__(supervisor, spec)
        self.program = program
        self._config = self._directory / f"{program.name}.conf"
        self._config.write_text(configuration(spec, program))

    def _argv(self) -> list[str | Path]:
        return [shutil.which(self.program.name) or self.program.name, "-c", self._config]


def real_program() -> Program | None:
    """Return the first router program on the PATH, or None."""
    return next((program for program in PROGRAMS if shutil.which(program.name)), None)
