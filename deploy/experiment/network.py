"""The network of a run: a lab that lives as long as it, or end points that are there."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from collectors.router.topology import EXPECT_SEPARATOR
from deploy.actions.command import Template
from deploy.actions.executor import Executor
from deploy.actions.here import InProcess
from deploy.actions.several import Several
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.experiment.setup import Setup
from deploy.lab import wirings
from deploy.lab.lab import Lab
from deploy.topology.action import HERE
from deploy.topology.action_kinds import KINDS

_DIRECT: Final = "direct"


def wiring(setup: Setup) -> str:
    """Return the plan's; else relays where a link is to be broken, and nothing in between where none is."""
    if setup.plan.network.wiring is not None:
        return setup.plan.network.wiring
    breaks = any(EXPECT_SEPARATOR in one.what and KINDS[one.do].of == "link" for one in setup.plan.actions)
    return wirings.DEFAULT if breaks else _DIRECT


class RunningNetwork:
    """Started when it is made; it ends with the supervisor."""

    def __init__(self, setup: Setup, supervisor: Supervisor, beside: Path) -> None:
        self._lab: Lab | None = None
        self.base = setup.base
        if setup.network is not None:
            self._lab = Lab(
                supervisor,
                setup.network.topology,
                wiring=wirings.made(wiring(setup), supervisor),
                stand_ins=setup.plan.network.stand_ins,
            )
            self._lab.start()
            self._lab.wait_connected()
            self.base = self._lab.config()
        self._beside = beside

    @property
    def parts(self) -> frozenset[str]:
        """Routers and brokers that were started here."""
        return frozenset(self._lab.parts) if self._lab else frozenset()

    def executor(self) -> Executor:
        """Return what carries out actions: on the lab, else by commands and templates of the plan's."""
        if self._lab is None:
            return Several(Template("{part}"), {}, self._beside)
        here = InProcess(self._lab)
        return Several(here, {HERE: here}, self._beside)
