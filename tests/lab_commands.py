"""Labs in a folder of their own, by their commands as processes: `from lab_commands import Labs`."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from helpers import wait_until

from deploy.embedded.supervise import orphans

_PROJECT = Path(__file__).parents[1]
_SECONDS = 120


class Labs:
    """Runs `inflight lab …` in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        """Start `inflight lab` with these arguments."""
        return subprocess.Popen(
            [sys.executable, "-m", "deploy", "lab", *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(_PROJECT), **more.pop("env", {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **more,
        )

    def run(self, *arguments: str, status: int = 0, **more: Any) -> str:
        """Run `inflight lab` to its end, with this status; return what it wrote."""
        process = self.start(*arguments, **more)
        try:
            out, _ = process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert process.returncode == status, out
        return out

    def up(self, *arguments: str, **more: Any) -> dict[str, Any]:
        """Start a lab of stand-ins, and return its record."""
        self.run("up", *arguments, "--stand-ins", **more)
        named = arguments[arguments.index("--name") + 1] if "--name" in arguments else arguments[0]
        return self.record(named)

    def place(self, name: str) -> Path:
        return self.folder / ".inflight" / "labs" / name

    def record(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.place(name) / "lab.json").read_text())
        return found

    def now(self, name: str, status: int = 0) -> dict[str, Any]:
        """Return the lab as `status --json` tells it, with its parts by name."""
        (found,) = json.loads(self.run("status", name, "--json", status=status))["labs"]
        return {**found, "parts": {part["name"]: part for part in found["parts"]}}

    def left(self) -> list[int]:
        """Return the processes of this folder's labs, their keepers and reapers included."""
        needle = os.fsencode(f"{self.folder.resolve()}/.inflight/labs/")
        found = set(orphans.marked(f"{self.folder.resolve()}/"))
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    command = (entry / "cmdline").read_bytes()
                    here = (entry / "cwd").readlink() == self.folder.resolve()
                    if needle in command or (here and b"deploy.lab.keeper" in command):
                        found.add(int(entry.name))
        return sorted(found)

    def wait_nothing_left(self) -> None:
        wait_until(lambda: not self.left(), 60, "the end of every process of the labs")

    def close(self) -> None:
        for pid in self.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
