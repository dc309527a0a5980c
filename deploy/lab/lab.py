"""A topology run on this machine.

with Supervisor(folder) as supervisor:
    lab = Lab(supervisor, load.from_file(file).topology)
    lab.start()
    lab.wait_connected()
    lab.routers["A"].url, lab.brokers["store"].jolokia_url, lab.config()
    lab.tell({"do": "kill", "part": "B"})
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import partial
from typing import Any, Final

from collectors.router.topology import pair
from deploy.embedded.programs import router_management
from deploy.embedded.supervise.process import Interrupted
from deploy.embedded.supervise.service import Service
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.lab.routers import RealRouter, Router, StandIn
from deploy.lab.wiring import Direct, Wiring
from deploy.topology.form import Topology
from deploy.topology.programs import PROGRAMS

_CONNECT_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.1
PART_VERBS: Final[Mapping[str, Callable[[Service], object]]] = {
    "kill": Service.kill,
    "stop": Service.stop,
    "start": Service.start,
    "restart": Service.restart,
    "pause": Service.pause,
    "resume": Service.resume,
}


class Lab:
    """The parts of a topology, their addresses and ports known before `start`; the supervisor ends them."""

    def __init__(
        self,
        supervisor: Supervisor,
        topology: Topology,
        *,
        wiring: Wiring | None = None,
        stand_ins: bool = False,
    ) -> None:
        """With `stand_ins` routers are stand-ins even where the real program is on the PATH."""
        self._supervisor = supervisor
        self.wiring = wiring or Direct()
        self.plan = self.wiring.place(topology)
        command = PROGRAMS[topology.program].command
        router = StandIn if stand_ins or shutil.which(command) is None else RealRouter
        self.routers: dict[str, Router] = {
            name: router(supervisor, self.plan, name) for name in self.plan.routers
        }
        self.parts: dict[str, Service] = {**self.routers}
        for name, part in self.parts.items():
            part.begun_by = partial(self.wiring.argv, name)
        self.links = frozenset(pair(one, other).id for one, other, _ in self.plan.links())
        self._wired = False

    def start(self) -> None:
        """Start the parts that do not run, all at once; return when each is ready by itself."""
        if not self._wired:
            self.wiring.start()
            self._wired = True
        with ThreadPoolExecutor(len(self.parts)) as pool:
            starting = [pool.submit(part.start) for part in self.parts.values() if not part.alive]
            for started in wait(starting, return_when=FIRST_EXCEPTION).done:
                started.result()

    def wait_connected(self, seconds: float = _CONNECT_SECONDS) -> None:
        """Return when each router reaches every other one of its mesh.

        Raises Problem if that takes longer, and Interrupted if the supervisor is asked to stop.
        """
        deadline = time.monotonic() + seconds
        while waiting_for := self._not_connected():
            if self._supervisor.stopping():
                raise Interrupted("the routers")
            if time.monotonic() > deadline:
                raise Problem(f"the parts did not come together in {seconds:g} s: {waiting_for}")
            time.sleep(_POLL_SECONDS)

    def _not_connected(self) -> str | None:
        for mesh in self.plan.meshes:
            for name in mesh:
                for other in mesh:
                    try:
                        router_management.nodes(self.routers[name].url, self.routers[other].management)
                    except Exception as error:  # noqa: BLE001 -- a starting router may fail in any way
                        return f"{name} does not reach {other} ({error})"
        return None

    def tell(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Do what is told to a part or to a link; raises Problem where that is not possible."""
        verb = str(command.get("do"))
        if verb in PART_VERBS:
            part = self.parts.get(str(command.get("part")))
            if part is None:
                raise Problem(f"{verb}: name a `part`, one of {', '.join(self.parts)}")
            PART_VERBS[verb](part)
            return {}
        if verb in self.wiring.verbs:
            if command.get("link") not in self.links:
                raise Problem(f"{verb}: name a `link`, one of {', '.join(sorted(self.links))}")
            return self.wiring.tell(command)
        raise Problem(f"{verb!r} is none of {', '.join([*PART_VERBS, *sorted(self.wiring.verbs)])}")
