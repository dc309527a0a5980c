"""Packets that wait until they are due: pure, the clock and the dice are given."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Final

_PACKETS_MAX: Final = 10_000  # that wait at a time; a full queue drops, as that of a real link does


class DelayLine:
    """One direction of a link. Packets keep their order, but for those that overtake the ones that wait."""

    def __init__(
        self, *, delay_ns: int, jitter_ns: int, overtaking_percent: float, dice: Callable[[], float]
    ) -> None:
        """`dice` gives a number from 0 up to 1."""
        self._delay_ns, self._jitter_ns = delay_ns, jitter_ns
        self._overtaking_share = overtaking_percent / 100
        self._dice = dice
        self._waiting: list[tuple[int, int, bytes]] = []
        self._number = 0
        self._last_due_ns = 0

    @property
    def due_ns(self) -> int | None:
        """When the next packet is due."""
        return self._waiting[0][0] if self._waiting else None

    def put(self, packet: bytes, now_ns: int) -> None:
        if len(self._waiting) >= _PACKETS_MAX:
            return
        if self._dice() < self._overtaking_share:
            due_ns = now_ns
        else:
            jitter_ns = round((2 * self._dice() - 1) * self._jitter_ns)
            due_ns = max(now_ns + self._delay_ns + jitter_ns, self._last_due_ns)
            self._last_due_ns = due_ns
        self._number += 1
        heapq.heappush(self._waiting, (due_ns, self._number, packet))

    def take(self, now_ns: int) -> list[bytes]:
        """Return the packets that are due, in the order in which they leave."""
        taken = []
        while self._waiting and self._waiting[0][0] <= now_ns:
            taken.append(heapq.heappop(self._waiting)[2])
        return taken
