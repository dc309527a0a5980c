"""A network that is a folder: a tool that writes down what it is told to do, and `inflight fault` over it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import wait_until

from collectors.contract import events
from collectors.contract.events import Event

PATIENCE_SECONDS = 60.0
# `slow` verbs wait until the file `go` is there, failing ones say why they do.
_TOOL = """#!/bin/sh
cd "$(dirname "$0")"
echo "begun $*" >>done
[ -e "fail-$1" ] && { echo "no way to $1"; exit 1; }
[ -e "hang-$1" ] && { echo $$ >>hanging; while :; do sleep 1; done; }
echo "$*" >>done
"""


class Faults:
    """`inflight fault` in a folder, with notes of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        tool = folder / "tool"
        tool.write_text(_TOOL)
        tool.chmod(0o755)
        self.tool = f"{tool} {{verb}} {{part}}"
        (folder / "inflight.yaml").write_text("version: 1\nsite: here\nstate: state\n")
        self.notes = folder / "xdg" / "inflight" / "actions"
        self.env = {**os.environ, "XDG_STATE_HOME": str(folder / "xdg")}
        self.env.pop("INFLIGHT_CONFIG", None)
        self._begun: list[subprocess.Popen[str]] = []

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        begun = subprocess.Popen(
            [sys.executable, "-m", "deploy", "fault", *arguments],
            cwd=self.folder,
            env={**self.env, "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._begun.append(begun)
        return begun

    def __call__(self, *arguments: str) -> tuple[int, str]:
        """Return the exit status, and what was told."""
        begun = self.begin(*arguments)
        told, _ = begun.communicate(timeout=PATIENCE_SECONDS)
        return begun.returncode, told

    def with_tool(self, *arguments: str) -> tuple[int, str]:
        return self(*arguments, "--with", self.tool)

    def begin_with_tool(self, *arguments: str) -> subprocess.Popen[str]:
        return self.begin(*arguments, "--with", self.tool)

    def done(self, *, begun: bool = False) -> list[str]:
        """What the tool did, without what it only began."""
        file = self.folder / "done"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line for line in lines if begun or not line.startswith("begun ")]

    def until_done(self, *lines: str) -> None:
        wait_until(lambda: self.done() == [*lines], PATIENCE_SECONDS, f"{lines} to be done")

    def marked(self) -> list[Event]:
        return self.marked_in(self.folder / "state")

    @staticmethod
    def marked_in(state: Path) -> list[Event]:
        file = state / "events.jsonl"
        return [events.decode(line) for line in file.read_bytes().splitlines()] if file.exists() else []

    def noted(self) -> list[Path]:
        return sorted(self.notes.glob("*.json"))

    def end(self) -> None:
        for begun in self._begun:
            if begun.poll() is None:
                begun.kill()
            begun.communicate()


@pytest.fixture
def faults(tmp_path: Path) -> Iterator[Faults]:
    made = Faults(tmp_path)
    yield made
    made.end()
