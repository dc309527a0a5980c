"""What is due and not sent yet, and what is given up of it."""

from __future__ import annotations

import logging
from collections import deque
from typing import Final

from collectors.contract.records import SECOND_NS, UnsentReason
from collectors.probe.measure.guard import Guard
from collectors.probe.measure.ledger import SenderLedger
from collectors.probe.measure.schedule import Schedule

_log: Final = logging.getLogger("inflight.probe")
_AT_ONCE: Final = 10_000
_TRICKLE_NS: Final = 2_000_000_000


class Backlog:
    """Messages between a schedule, which knows nothing of the network, and what the network takes."""

    def __init__(self, path: str, schedule: Schedule, ledger: SenderLedger, guard: Guard, most: int) -> None:
        """At most `most` messages wait; beyond that the oldest are given up."""
        self._path, self._schedule, self._ledger = path, schedule, ledger
        self._guard, self._most = guard, most
        self.waiting: Final[deque[int]] = deque()  # intended times, oldest first
        self.start_ns = 0
        self.guard_problem: str | None = None  # why the guard stops sending
        self._trickled_ns = 0
        self.due = 0
        self.unsent = 0

    @property
    def oldest_ns(self) -> int | None:
        return self.waiting[0] if self.waiting else None

    def collect(self, now_ns: int, obstacle: UnsentReason) -> None:
        """Adds what is due by now, and gives up what is too much."""
        self.waiting.extend(self._due(now_ns))
        if not self.waiting:
            return
        if self.is_guarded(now_ns):
            self.give_up(self.trickle(now_ns), "guard")
        elif len(self.waiting) > self._most:
            self.give_up(self._most, obstacle)

    def pass_over(self, now_ns: int) -> None:
        """Counts what has become due by now as unsent: the process did not run."""
        while missed := self._due(now_ns):
            for intended in missed:
                self._ledger.give_up(intended // SECOND_NS, "stalled")
            self.unsent += len(missed)

    def _due(self, now_ns: int) -> list[int]:
        """Returns the intended times of what has become due; empty when that is all."""
        found = [self.start_ns + offset for offset in self._schedule.due(now_ns - self.start_ns, _AT_ONCE)]
        for intended in found:
            self._ledger.due(intended // SECOND_NS)
        self.due += len(found)
        return found

    def take_unpaced(self, now_ns: int, room: int) -> int:
        """Returns how many messages of an unpaced schedule are due: as many as there is room for."""
        if self.is_guarded(now_ns):
            room = min(room, self.trickle(now_ns))
        room = self._schedule.take(now_ns - self.start_ns, max(0, room))
        self.due += room
        return room

    def give_back_unpaced(self, count: int) -> None:
        """So many messages of those that were due are not sent now after all."""
        self._schedule.give_back(count)
        self.due -= count

    def give_up(self, keep: int, reason: UnsentReason) -> None:
        """Gives up all but the newest `keep` messages."""
        while len(self.waiting) > keep:
            self._ledger.give_up(self.waiting.popleft() // SECOND_NS, reason)
            self.unsent += 1

    def is_guarded(self, now_ns: int) -> bool:
        """Returns whether the guard stops sending; logs when that changes."""
        problem = self._guard.problem(self._ledger.next_seq, now_ns)
        if (problem is None) != (self.guard_problem is None):
            text = f"sending stops: {problem}" if problem else "sending goes on"
            _log.warning("path %s: %s", self._path, text)
        self.guard_problem = problem
        return problem is not None

    def trickle(self, now_ns: int) -> int:
        """Returns how many messages the guard lets out: by these few a receiver finds this sender again."""
        if now_ns - self._trickled_ns < _TRICKLE_NS:
            return 0
        self._trickled_ns = now_ns
        return 1
