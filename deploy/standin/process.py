"""Puts the rooms of a stand-in together; the one module that imports them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deploy.standin.engine.connections import Connections
from deploy.standin.engine.loop import Loop
from deploy.standin.faults.control import Control
from deploy.standin.faults.injector import Injector
from deploy.standin.management.node import ManagementNode
from deploy.standin.routing.router import Router

if TYPE_CHECKING:
    from deploy.standin.settings import Settings


class StandInProcess:
    def __init__(self, settings: Settings) -> None:
        self.loop = Loop()
        self._injector = Injector(self.loop)
        self.router = Router(settings, self.loop, self._injector)
        self.connections = Connections(self.router)
        self._control: Control | None = None
        self.management = ManagementNode(self.router, self.connections)

    def start(self) -> list[int]:
        """Listen and connect; return the ports."""
        router = self.router
        self.loop.after_turn = router.after_turn
        router.mesh.advertise()
        router.every_second()
        ports = self.connections.start()
        if path := router.settings.control:
            self._control = Control(self._injector.rules, self.loop, path, router.recheck_credit_of_all)
        return ports

    def run(self) -> None:
        """Run until `loop.stopping` is set, then close everything."""
        self.loop.run()
        self.connections.stop()
        self.loop.close()
        if self._control:
            self._control.close()
