"""A run of loads as its own process: `from run_loads import LoadRun, run_loads`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from helpers import wait_until

from collectors.contract.window_rows import CLASSES, WindowRow, decode_window


class LoadRun:
    """Begins at once; `end` waits for its results, the end of the block ends what is left."""

    def __init__(self, description: dict[str, Any]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="loads-")
        folder = Path(self._folder.name)
        self._out, self._progress, self._rows = folder / "out", folder / "progress", folder / "windows"
        whole = {"settle": "3s", "patience": "20s", "windows": str(self._rows), **description}
        (folder / "description.json").write_text(json.dumps(whole))
        with self._progress.open("wb") as progress:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "deploy.loads", folder / "description.json", "--out", self._out],
                stdout=progress,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._folder.cleanup()

    def progress(self) -> list[dict[str, Any]]:
        lines = self._progress.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def wait_for(self, name: str, least: int) -> None:
        """Wait until so many are sent, or received."""
        wait_until(lambda: self.progress()[-1][name] >= least, 120, f"{least} {name}")

    def generators(self) -> list[int]:
        """The processes of its generators, in order."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(pid) for pid in children]

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def end(self, seconds: float = 180) -> dict[str, Any]:
        """Its results; checks that the classes of every row add up."""
        self.process.wait(seconds)
        found: dict[str, Any] = json.loads(self._out.read_text())
        for figures in found["figures"].values():
            assert figures["sent"] == sum(figures[name] for name in CLASSES)
        return found

    def rows(self) -> list[WindowRow]:
        return [decode_window(line) for line in self._rows.read_bytes().splitlines()]


def run_loads(description: dict[str, Any]) -> dict[str, Any]:
    """The results of a run that has nothing in its way."""
    with LoadRun(description) as run:
        found = run.end()
        assert run.process.returncode == 0, found["stopped"] or found["problems"]
        return found


def delivered(found: dict[str, Any], path: str) -> int:
    """How many messages a path sent, all of which were received."""
    figures = found["figures"][path]
    assert figures["received"] == figures["sent"]
    return int(figures["sent"])
