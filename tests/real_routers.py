"""Lines of real routers, for each program on the PATH, and of stand-ins."""

from __future__ import annotations

import shutil
import string
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from helpers import optional

from deploy.embedded.supervise.supervisor import Supervisor
from deploy.lab.lab import Lab
from deploy.topology import load
from deploy.topology.form import Topology
from deploy.topology.programs import PROGRAMS, Program

DISPATCH: Final = PROGRAMS["qdrouterd"]
SKUPPER: Final = PROGRAMS["skrouterd"]
ROUTERS: Final = (DISPATCH, SKUPPER)
each_program = {"params": ROUTERS, "ids": [program.name for program in ROUTERS]}


def wanted(program: Program) -> Program:
    """The program of a router; skips the test if it is not on the PATH."""
    if shutil.which(program.command) is None:
        optional(program.command)
    return program


def line(program: Program = DISPATCH, *, routers: int = 3, brokers: tuple[str, ...] = ()) -> Topology:
    """Routers A - B - C …, the brokers at the last ones."""
    names = string.ascii_uppercase[:routers]
    return load.from_shape("line", names, [(name, None) for name in brokers], program.name).topology


@contextmanager
def running(topology: Topology, directory: Path, *, stand_ins: bool = False) -> Iterator[Lab]:
    """A lab that has come together; its routers are real ones unless it is told otherwise."""
    if not stand_ins:
        wanted(PROGRAMS[topology.program])
    with Supervisor(directory) as supervisor:
        lab = Lab(supervisor, topology, stand_ins=stand_ins)
        lab.start()
        lab.wait_connected()
        yield lab
