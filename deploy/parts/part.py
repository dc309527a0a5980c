"""What the parts have in common: a part is made from a config, started and stopped, in any process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from collectors.config.secrets import SecretError
from collectors.http.part_server import ListenError
from collectors.kafka.client import KafkaSetupError
from deploy.errors import Problem


class Part(ABC):
    """Works once, from `start` to `stop`; `with part:` calls both.

    Making one takes what it needs (its address, its folders) and raises Problem where that is not to be had.
    """

    def __init__(self) -> None:
        self._closing = ExitStack()  # of what it has taken, the last first
        self._started = False

    @property
    @abstractmethod
    def url(self) -> str:
        """Where it serves /metrics, /-/healthy and /-/ready."""

    def start(self) -> None:
        """Begin to work; raises Problem where it cannot."""
        self._started = True
        self._start()

    def stop(self) -> None:
        """End the work, keep what has to be kept, and give back what was taken. Blocks for some seconds."""
        self._closing.close()

    def not_ready(self) -> str | None:
        """Why it is not at work with all that it has, as /-/ready says it; None where it is."""
        return self._why_not_ready() if self._started else "not started yet"

    @property
    def ended(self) -> bool:
        """Whether it has ended by itself."""
        return False

    @property
    def failure(self) -> str | None:
        """Why it ended unasked."""
        return None

    @property
    def exit_status(self) -> int:
        """Of a process that has done nothing but this part."""
        return Problem.exit_code if self.failure else 0

    @abstractmethod
    def _start(self) -> None: ...

    @abstractmethod
    def _why_not_ready(self) -> str | None:
        """Why it is not ready, once it is started."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @contextmanager
    def _making(self, state: Path | None = None) -> Iterator[ExitStack]:
        """Close what was taken where the rest cannot be had, and raise Problem."""
        try:
            with ExitStack() as taken:
                yield taken
                self._closing = taken.pop_all()
        except (KafkaSetupError, SecretError, ListenError) as error:
            raise Problem(str(error)) from None
        except OSError as error:
            raise (Problem(str(error)) if state is None else state_problem(state, error)) from None


def state_problem(state: Path, error: OSError) -> Problem:
    """The Problem that what has to outlive a restart cannot be kept."""
    return Problem(
        f"the folder `state` of the config, {state}, cannot be used: {error.strerror or error};"
        " let this user write there, or give another one"
    )


def without_kafka(command: str) -> Problem:
    return Problem(
        f"the config has no `kafka`, which `inflight {command}` needs; `inflight run` does everything in one"
        " process"
    )
