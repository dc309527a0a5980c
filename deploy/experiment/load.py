"""The seam between a run and what it sends: kinds of loads by name, and what a load has to do.

A load is a process, or several. It hands on the records of probes, which the run counts as everywhere, or
the final rows of the same accounting; one that is of another kind returns its figures by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from collectors.config.mistakes import Mistake
from collectors.config.model import Config
from deploy.embedded.supervise.supervisor import Supervisor

Json = dict[str, Any]
Figures = Mapping[str, Mapping[str, Any]]  # by path, and `all`: as deploy/loads/figures.py makes them


@dataclass(frozen=True)
class Step:
    """A part of the measured time, with the value of the setting that changes, if one does."""

    value: Any
    duration_ns: int | None  # None: until all that the load has to send is sent


@dataclass(frozen=True)
class Order:
    """What a load gets. `take` is to be given each record of a probe, with its path; from any thread."""

    document: Json  # `load` of the plan, with the levels of this run
    made: Json  # a config of Inflight: end points and paths
    config: Config  # the same, read
    warm_up_ns: int
    steps: Sequence[Step]  # one after another, the first one's value also in the warm-up
    supervisor: Supervisor  # starts its processes, and ends them whatever happens
    folder: Path  # for its own files
    take: Callable[[bytes, str], None]
    take_row: Callable[[bytes], None]  # for a load that does the accounting itself: its final rows


class Load(Protocol):
    """One load of one run; its methods are called by one thread, in this order."""

    def start(self) -> None:
        """Start processes and connect; return when all is ready to send. Raises Problem, or Interrupted."""

    def begin(self) -> tuple[int, int]:
        """Begin to send; return when the first sender did, and the last one, in ns."""

    def problem(self) -> str | None:
        """Return why it does not send any more, or None; called about once a second."""

    def progress(self) -> int:
        """Return a number that rises while anything is sent or received."""

    @property
    def finished(self) -> bool:
        """Whether all that was to be sent is sent; never, where time ends it."""

    def stop(self) -> None:
        """Send no more, wait for what is on its way, and end; all records are handed on then."""

    def unbounded(self) -> list[str]:
        """Return the paths that go as fast as they can."""

    def processes(self) -> int:
        """Return how many of its processes send."""

    def figures(self, from_ns: int, to_ns: int) -> Figures | None:
        """Return what it counted by itself in that time; None where its records are counted."""

    def at_ceiling(self) -> bool:
        """Return whether a process of its own, and not the network, was what limited it."""


class Kind(Protocol):
    """A kind of load, as a plan names it by `load.kind`."""

    def mistakes(self, load: Json) -> list[Mistake]:
        """Return what is wrong with `load` of a plan by itself, at places within it."""

    def config(self, base: Json, load: Json, values: Sequence[tuple[Any, int | None]]) -> Json:
        """Return the config of Inflight for it, made of a network's own.

        `values` are those of `load.rate` in turn, each with its time in ns, where phases change it.
        """

    def make(self, order: Order) -> Load: ...


DEFAULT: Final = "stream"


def kinds() -> dict[str, Kind]:
    """Return all kinds by name."""
    from deploy.experiment import other_loads, streams  # noqa: PLC0415 -- they know of this module

    return {"stream": streams.Streams(), **dict.fromkeys(other_loads.KINDS, other_loads.Others())}


def kind_of(load: Mapping[str, Any]) -> Kind:
    """Return the kind of a load; raises ValueError where there is none of that name."""
    name, known = load.get("kind", DEFAULT), kinds()
    if name not in known:
        raise ValueError(f"{name!r} is no kind of load; there are: {', '.join(known)}")
    return known[name]
