"""A program that can be ended and started again with the same ports and data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from deploy.embedded.supervise.process import Process, ProcessSpec
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem

Argv = Sequence[str | Path]


class Service(ABC):
    """A program whose ports and files are fixed when the object is made."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._process: Process | None = None
        self.name = type(self).__name__.lower()
        self.begun_by: Callable[[Argv], Argv] = lambda argv: argv  # a command line that starts the given one

    @classmethod
    @contextmanager
    def alone(cls, state_dir: Path, **options: Any) -> Iterator[Self]:
        """Start the service under a supervisor of its own; `options` are those of the class."""
        with Supervisor(state_dir) as supervisor:
            yield cls(supervisor, **options).start()

    @abstractmethod
    def _spec(self) -> ProcessSpec:
        """Prepare what has to be there before, and return what to start."""

    @property
    def process(self) -> Process:
        if self._process is None:
            raise RuntimeError(f"{self.name} was not started")
        return self._process

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.alive

    def start(self) -> Self:
        spec = self._spec()
        self._supervisor.start(replace(spec, argv=self.begun_by(spec.argv)), self._begun)
        return self

    def _begun(self, process: Process) -> None:
        self._process = process

    def stop(self) -> None:
        """End it in order; the data stay."""
        if self._process is not None:
            self._process.stop()

    def kill(self) -> None:
        """End it as a crash would; the data stay as they are at that moment."""
        if self._process is not None:
            self._process.kill()

    def restart(self) -> None:
        self.stop()
        self.start()

    def pause(self) -> None:
        """Let it stand still as it is, its connections open; raises Problem if it does not run."""
        self._running().pause()

    def resume(self) -> None:
        """Let it go on after `pause`; raises Problem if it does not run."""
        self._running().resume()

    def _running(self) -> Process:
        if self._process is None or not self._process.alive:
            raise Problem(f"{self.name} does not run: start it first")
        return self._process
