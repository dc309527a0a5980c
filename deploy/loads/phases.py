"""When a run of loads goes on to what: a state machine of how its generators stand. Knows no process."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from collectors.process import wall_clock
from deploy.loads.model import Description, Pairs, PublicQueues, Relay, Stream
from deploy.loads.paths import GONE_AFTER_NS

Phase = Literal["attaching", "sending", "draining", "ending"]
Order = tuple[str]

_QUIET_SECONDS: Final = 0.5  # all that was sent is accounted for, and nothing came for so long
_GONE_SECONDS: Final = GONE_AFTER_NS / 1e9 + 1.0
_BEGIN_SECONDS: Final = 60.0  # for a generator to come up, on a busy machine
_LAST_WINDOW_SECONDS: Final = 1.5  # after so long the last window is over, and loss in it is final


def longest_pause_ns(description: Description) -> int:
    """Returns for how long nothing may move in a run that is well."""
    found = [0]
    for load in description.loads.values():
        if isinstance(load, (Stream, Pairs, PublicQueues)):
            slowest = min(min(step.start, step.end) for step in load.rate)
            found += [round(1e9 / slowest)] if slowest else []
        if isinstance(load, (Stream, PublicQueues)):
            found += [round(1e9 / reads) for reads in load.reads if reads]
        if isinstance(load, Relay):
            found.append(load.hold or 0)
    return max(found)


class Phases:
    """All are attached, all have sent what they will, all is accounted for: the end; or sooner, told why."""

    def __init__(self, *, settle_seconds: float, patience_seconds: float) -> None:
        self.name: Phase = "attaching"
        self.stopped: str | None = None  # why it ended before its end
        self.sending_from_ns: int | None = None
        self._settle_seconds, self._patience_seconds = settle_seconds, patience_seconds
        self._known = False  # all generators have told how they stand
        self._moved: tuple[int, ...] = ()
        self._moved_at: float | None = None
        self._stop: str | None = None

    @property
    def ending(self) -> bool:
        return self.name == "ending"

    def stop(self, reason: str) -> None:
        """Sends nothing more from now on; what is on its way is waited for."""
        self._stop = self._stop or reason

    def step(self, now: float, stands: Sequence[Mapping[str, Any]]) -> list[Order]:
        """Returns what to tell all generators now; `stands` are of those that have not ended."""
        totals = sum(_by_path(stands).values(), Counter[str]())
        moved = tuple(totals[name] for name in ("sent", "received", "refused"))
        if moved != self._moved or self._moved_at is None:
            self._moved, self._moved_at = moved, now
        idle = now - self._moved_at
        known = bool(stands) and all(stands)
        if self.name == "attaching":
            return self._attaching(now, idle, stands, known=known)
        if self.name == "sending":
            return self._sending(now, idle, stands)
        silent = any(stand.get("silent") for stand in stands)
        if self.name == "draining" and self._is_drained(idle, _by_path(stands), silent=silent):
            self.name = "ending"
            return [("end",)]
        return []

    def _attaching(
        self, now: float, idle: float, stands: Sequence[Mapping[str, Any]], *, known: bool
    ) -> list[Order]:
        if known and not self._known:
            self._known, self._moved_at, idle = True, now, 0.0  # the patience is with peers, from now on
        problem = next((p for stand in stands if (p := stand.get("not_ready"))), "no generator answers")
        patience = self._patience_seconds if self._known else max(self._patience_seconds, _BEGIN_SECONDS)
        if self._stop is None and idle > patience:
            self._stop = f"nothing was sent: {problem}"
        if self._stop is not None:
            self.stopped, self.name = self._stop, "ending"
            return [("end",)]
        if not known or any(stand["not_ready"] for stand in stands):
            return []
        self.name, self._moved_at = "sending", now
        self.sending_from_ns = wall_clock.now_ns()
        return [("go",)]

    def _sending(self, now: float, idle: float, stands: Sequence[Mapping[str, Any]]) -> list[Order]:
        if self._stop is None and idle > self._patience_seconds:
            problem = next((p for stand in stands if (p := stand.get("not_ready"))), "a peer gives no credit")
            self._stop = f"nothing moved for {idle:.0f} s: {problem}"
        self.stopped = self._stop
        if self._stop is None and not all(stand["finished"] for stand in stands):
            return []
        self.name, self._moved_at = "draining", now
        return [("stop",)]

    def _is_drained(self, idle: float, paths: Mapping[str, Counter[str]], *, silent: bool) -> bool:
        accounted = all(
            not each["unsettled"] and each["received"] >= each["sent"] - each["refused"]
            for each in paths.values()
        )
        if accounted and idle > _QUIET_SECONDS:
            return True
        # Of a generator that says nothing the others have to be heard of until it counts as gone.
        gone_seconds = _GONE_SECONDS if silent else 0.0
        return idle > self._settle_seconds + _LAST_WINDOW_SECONDS + gone_seconds


def _by_path(stands: Sequence[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for stand in stands:
        for name, counts in stand.get("paths", {}).items():
            found[name].update(counts)
    return found
