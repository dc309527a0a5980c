"""All groups of an installation: whose each row, poll and event is, and what becomes of one that fails."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from collectors.contract.attribution_rows import AttributionRow
from collectors.contract.events import Event
from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import Topic
from collectors.contract.window_rows import LiveRow, WindowRow
from streaming.attribution.engine import Attribution
from streaming.attribution.places import Place, groups_of

MAX_STRANGERS: Final = 256  # groups that no path of the config is in: names made up must not fill the memory
FORGET_NS: Final = 24 * 3_600 * 10**9  # such a group, after so long without a record
# From turn to turn, also within a batch: what is fed is taken for as old as the last one.
LONGEST_NS: Final = 30 * 10**9
_NEWEST: Final = struct.Struct("<q")

Make = Callable[[Mapping[str, Place], bytes | None], Attribution]


class FullError(ValueError):
    """There is no room for another group."""


class BegunAnew(NamedTuple):
    """A group that lost what it knew, and why."""

    group: str
    why: str


class Groups:
    """One `Attribution` for each group, so that none has another's troubles.

    Times are `at_ns` of Kafka's appends, or of the wall clock in process. Not thread-safe.
    """

    def __init__(self, places: Mapping[str, Place], make: Make = Attribution) -> None:
        self._places, self._make = places, make
        self._group_of_mesh = groups_of(places)
        self._configured = frozenset(place.group for place in places.values())
        self._groups: dict[str, Attribution] = {}
        self._newest_ns: dict[str, int] = {}
        self._touched: set[str] = set()
        self._turned_ns: dict[str, int] = {}
        self._rows: list[AttributionRow] = []
        self._begun_anew: list[BegunAnew] = []
        for group in sorted(self._configured):
            self._begin(group)

    def feed_window(self, row: WindowRow, at_ns: int) -> None:
        self._reached(self._of_row(row), at_ns).feed_window(row)

    def feed_live(self, row: LiveRow, at_ns: int) -> None:
        self._reached(self._of_row(row), at_ns).feed_live(row)

    def feed_poll(self, topic: Topic, record: Telemetry, at_ns: int) -> None:
        """Raises ValueError where the record cannot be read."""
        group = self._group_of_mesh.get(record.mesh, record.mesh)
        self._reached(group, at_ns).feed_poll(topic, record)

    def feed_event(self, event: Event, at_ns: int) -> None:
        """Tell all groups: an event names paths by patterns, and no mesh."""
        for group in self._groups:
            self._reached(group, at_ns).feed_event(event)

    def advance(self, at_ns: int) -> None:
        """Let time go on for all groups, also where nothing came."""
        for group in self._groups:
            self._reached(group, at_ns)

    def turn(self) -> list[AttributionRow]:
        """Returns the new rows of all groups that something came for since the last turn."""
        for group in sorted(self._touched):
            self._turn(group)
        self._touched.clear()
        self._forget()
        found, self._rows = self._rows, []
        return found

    def begun_anew(self) -> list[BegunAnew]:
        """Returns what was lost since the last call."""
        found, self._begun_anew = self._begun_anew, []
        return found

    def states(self) -> dict[str, bytes]:
        """Returns the state of each group as bytes."""
        found = {}
        for group in list(self._groups):
            try:
                state = self._groups[group].encode()
            except Exception as error:  # noqa: BLE001 -- the same
                self._lost(group, f"its state cannot be written: {_told(error)}")
                continue
            found[group] = _NEWEST.pack(self._newest_ns[group]) + state
        return found

    def restore(self, group: str, state: bytes) -> None:
        """Go on from such a state; what cannot be read is told by `begun_anew`."""
        try:
            (newest_ns,) = _NEWEST.unpack_from(state)
            self._begin(group, state[_NEWEST.size :])
        except Exception as error:  # noqa: BLE001 -- whatever is wrong with it, the next start would fail, too
            self._lost(group, f"its state cannot be read: {_told(error)}")
        else:
            self._newest_ns[group] = self._turned_ns[group] = newest_ns

    def begin_anew(self, why: str) -> None:
        """Forget what all groups know."""
        for group in list(self._groups):
            self._lost(group, why)

    def _of_row(self, row: WindowRow | LiveRow) -> str:
        place = self._places.get(row["path"])
        return place.group if place else self._group_of_mesh.get(row["mesh"], row["mesh"])

    def _reached(self, group: str, at_ns: int) -> Attribution:
        if group not in self._groups:
            if len(self._groups) - len(self._configured) >= MAX_STRANGERS:
                raise FullError(f"there are {MAX_STRANGERS} meshes already that are in no path of the config")
            self._begin(group)
        self._touched.add(group)
        self._newest_ns[group] = max(self._newest_ns[group], at_ns)
        if at_ns - self._turned_ns.setdefault(group, at_ns) > LONGEST_NS:
            self._turn(group)
        self._groups[group].reach(at_ns)
        return self._groups[group]

    def _turn(self, group: str) -> None:
        self._turned_ns[group] = self._newest_ns[group]
        try:
            self._rows += self._groups[group].turn(self._newest_ns[group])
        except Exception as error:  # noqa: BLE001 -- one group's failure is not the others'
            self._lost(group, f"its turn failed: {_told(error)}")

    def _begin(self, group: str, state: bytes | None = None) -> None:
        places = {name: place for name, place in self._places.items() if place.group == group}
        self._groups[group] = self._make(places, state)
        self._newest_ns.setdefault(group, 0)

    def _lost(self, group: str, why: str) -> None:
        self._begun_anew.append(BegunAnew(group, why))
        self._begin(group)

    def _forget(self) -> None:
        newest_ns = max(self._newest_ns.values(), default=0)
        old = {group for group, at_ns in self._newest_ns.items() if newest_ns - at_ns > FORGET_NS}
        for group in old - self._configured:
            del self._groups[group], self._newest_ns[group]
            self._turned_ns.pop(group, None)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]
