"""A part that can be ended and started again on the same ports and data, alone or among others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from deploy.embedded.supervise.process import Part, Process
from deploy.embedded.supervise.supervisor import Supervisor


class Service(ABC):
    """Its ports and files are fixed when it is made; `start` may be called after each `stop` or `kill`."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._process: Process | None = None

    @classmethod
    @contextmanager
    def alone(cls, state_dir: Path, **options: Any) -> Iterator[Self]:
        """The service, started, under a supervisor of its own; `options` are those of the class."""
        with Supervisor(state_dir) as supervisor:
            yield cls(supervisor, **options).start()

    @abstractmethod
    def _part(self) -> Part:
        """What to start, after whatever has to be there first."""

    @property
    def process(self) -> Process:
        if self._process is None:
            raise RuntimeError(f"{type(self).__name__} was not started")
        return self._process

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.alive

    def start(self) -> Self:
        self._process = self._supervisor.start(self._part())
        return self

    def stop(self) -> None:
        """A clean end; the data stay."""
        if self._process is not None:
            self._process.stop()

    def kill(self) -> None:
        """The end a crash would bring; the data stay as they are at that moment."""
        if self._process is not None:
            self._process.kill()

    def restart(self) -> None:
        self.stop()
        self.start()
