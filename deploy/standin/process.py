"""The parts of a stand-in put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deploy.standin.engine.connections import Connections
from deploy.standin.engine.loop import Loop
from deploy.standin.faults.control import Control
from deploy.standin.management.node import Management
from deploy.standin.routing.router import Router

if TYPE_CHECKING:
    from deploy.standin.settings import Settings


class Process:
    def __init__(self, settings: Settings) -> None:
        self.loop = Loop()
        self.router = Router(settings, self.loop)
        self.connections = Connections(self.router)
        self._control: Control | None = None
        self.management = Management(self.router, self.connections)

    def start(self) -> list[int]:
        """Listen and connect; tells the ports."""
        self.loop.after = self.router.after_turn
        self.router.mesh.advertise()
        self.router.beat()
        ports = self.connections.start()
        path = self.router.settings.control
        self._control = Control(self.router, self.loop, path) if path else None
        return ports

    def run(self) -> None:
        """Until somebody sets loop.stopping."""
        self.loop.run()
        self.connections.stop()
        self.loop.close()
        if self._control:
            self._control.close()
