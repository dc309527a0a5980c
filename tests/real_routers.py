"""A line of real routers, for each program on the PATH."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers import optional

from deploy.embedded.network import Network
from deploy.embedded.programs.router_config import PROGRAMS, Program
from deploy.embedded.supervise.supervisor import Supervisor

each_program = {"params": PROGRAMS, "ids": [program.name for program in PROGRAMS]}


def wanted(program: Program) -> Program:
    """The program of a router; skips the test if it is not on the PATH."""
    if shutil.which(program.name) is None:
        optional(program.name)
    return program


@contextmanager
def real_line(program: Program, directory: Path, **parts: Any) -> Iterator[Network]:
    """Routers A - B - C, all of that program."""
    wanted(program)
    with pytest.MonkeyPatch.context() as patch, Supervisor(directory) as supervisor:
        patch.setattr("deploy.embedded.network.real_program", lambda: program)
        yield Network(supervisor, kafka=False, **parts).start()
