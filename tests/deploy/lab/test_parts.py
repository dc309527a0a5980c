"""What is told of the processes of a lab."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from helpers import wait_until

from deploy.embedded.supervise.process import ProcessSpec
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.lab.lab import Lab
from deploy.lab.parts import Parts
from deploy.topology import load, shapes


def test_what_was_asked_to_end_is_left_out(tmp_path: Path) -> None:
    """Of what links are made of; what ended unasked is told, and a part always."""
    with Supervisor(tmp_path) as supervisor:
        lab = Lab(supervisor, load.from_shape("line", shapes.names(1)).topology, stand_ins=True)
        parts = Parts(lab, supervisor)
        one, other = (
            supervisor.start(ProcessSpec(name, ["sleep", "600"], lambda: True)) for name in ("one", "other")
        )
        assert [part.name for part in parts.now(starting=False)] == ["A", "one", "other"]
        one.stop()
        os.kill(other.pid, signal.SIGKILL)
        wait_until(lambda: not other.alive, 60, "its end")
        told = {part.name: (part.state, part.ended) for part in parts.now(starting=False)}
        assert told == {"A": ("down", None), "other": ("ended", "signal SIGKILL")}
