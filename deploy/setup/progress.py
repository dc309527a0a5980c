"""What a person sees of the set-up: a line for each step, on standard error."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Self

NEWS_SECONDS = 10.0
_TAIL_LINES = 30
_FETCHED = re.compile(r"^\s*Downloading \S+ \(([\d.]+) ([kMG]?)B\)", re.MULTILINE)
_UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}


class SetupError(Exception):
    """The set-up cannot go on; the text says why and what to do."""


def say(text: str) -> None:
    print(f"setup: {text}", file=sys.stderr, flush=True)  # noqa: T201 -- the set-up talks to a person


class Step:
    """A program that does one step of the set-up; what it says is held back, and told when it fails.

    Leaving the `with` block before `finish` ends the program.
    """

    def __init__(self, doing: str, command: list[str], folder: Path, **environ: str) -> None:
        self._doing = doing
        self._began = time.monotonic()
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 -- closed with the step
        self._program = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | environ,
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=subprocess.STDOUT,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._program.poll() is None:
            self._program.terminate()
            self._program.wait()
        self._said.close()

    def finish(self, done: str | None = None, growing: Path | None = None) -> None:
        """Waits for the program's end, then says `done`, how long after its begin, and what was fetched.

        Says every ten seconds that it waits, with the size of the folder `growing`. Raises SetupError when
        the program fails.
        """
        while True:
            try:
                self._program.wait(NEWS_SECONDS)
                break
            except subprocess.TimeoutExpired:
                size = f", {_size_bytes(growing) / 1e6:.0f} MB" if growing else ""
                say(f"  {self._doing}: {self._seconds():.0f} s{size} so far")
        self._said.seek(0)
        said = self._said.read().decode(errors="replace")
        if self.status:
            sys.stderr.write("".join(line + "\n" for line in said.splitlines()[-_TAIL_LINES:]))
            raise SetupError(
                f"could not {self._doing} (exit {self.status}, see above): is the network "
                "there? Run the same command again, what has come is kept"
            )
        if done:
            fetched_bytes = sum(float(number) * _UNITS[unit] for number, unit in _FETCHED.findall(said))
            fetched = [f"{fetched_bytes / 1e6:.1f} MB fetched"] if fetched_bytes else []
            say(", ".join([done, f"{self._seconds():.1f} s", *fetched]))

    @property
    def status(self) -> int | None:
        return self._program.returncode

    def _seconds(self) -> float:
        return time.monotonic() - self._began


def _size_bytes(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118 -- thousands of them
            except FileNotFoundError:
                continue
    return total
