"""What the parts have in common: they are made from a config, started and stopped, in any process."""

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

    The constructor takes what the part needs, like its address and its folder, and raises Problem where it
    cannot have it. `stop` gives it back, also where the part was never started.
    """

    def __init__(self) -> None:
        self._closing = ExitStack()  # what was taken, to be given back
        self._started = False

    @property
    @abstractmethod
    def url(self) -> str:
        """The base of /metrics, /-/healthy and /-/ready."""

    def start(self) -> None:
        """Begin to work; raises Problem where it cannot."""
        self._started = True
        self._start()

    def stop(self) -> None:
        """End the work, keep what has to be kept, and give back what was taken. Blocks for some seconds."""
        self._closing.close()

    def not_ready(self) -> str | None:
        """Returns why it is not fully at work, as /-/ready tells it, or None."""
        return self._why_not_ready() if self._started else "not started yet"

    @property
    def ended(self) -> bool:
        """Whether it has ended without `stop`."""
        return False

    @property
    def failure(self) -> str | None:
        """Why it ended without `stop`, or None."""
        return None

    @property
    def exit_status(self) -> int:
        """The exit status of a process that runs this part."""
        return Problem.exit_code if self.failure else 0

    @abstractmethod
    def _start(self) -> None: ...

    @abstractmethod
    def _why_not_ready(self) -> str | None:
        """Returns why it is not ready, or None; called once it is started."""

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
        """Give back what was taken if the constructor fails, and raise Problem where a person can mend it."""
        try:
            with ExitStack() as taken:
                yield taken
                self._closing = taken.pop_all()
        except (KafkaSetupError, SecretError, ListenError) as error:
            raise Problem(str(error)) from None
        except OSError as error:
            raise (Problem(str(error)) if state is None else state_problem(state, error)) from None


def state_problem(state: Path, error: OSError) -> Problem:
    """Returns the Problem that the state of a part cannot be kept."""
    return Problem(
        f"the folder `state` of the config, {state}, cannot be used: {error.strerror or error};"
        " let this user write there, or give another one"
    )


def without_kafka(command: str) -> Problem:
    return Problem(
        f"the config has no `kafka`, which `inflight {command}` needs; `inflight run` does everything in one"
        " process"
    )
