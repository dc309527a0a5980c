"""Receivers of loads: one that tells of each arrival, and one that reads at a rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from collectors.probe.measure.guard import RateCap
from collectors.probe.message import RUN_AT
from collectors.probe.receiver import Receiver

_NUMBER_AT: Final = RUN_AT + 8
_NUMBER_BYTES: Final = 8


class NoticingReceiver(Receiver):
    """Tells of each message that it counted: its number, and where its body is."""

    def __init__(self, *parts: Any, arrived: Callable[[int, memoryview, int], None], **more: Any) -> None:
        self._arrived = arrived
        super().__init__(*parts, **more)

    def on_message(self, buffer: memoryview, size: int, row_flag: int = 0) -> bool:
        before = self.received
        accepted = super().on_message(buffer, size, row_flag)
        if self.received != before:
            at = self._last_head_bytes
            number = int.from_bytes(buffer[at + _NUMBER_AT : at + _NUMBER_AT + _NUMBER_BYTES], "big")
            self._arrived(number, buffer[:size], at)
        return accepted


class PacedReceiver(Receiver):
    """Gives its peer credit at a rate: what it reads in a second at most."""

    def __init__(self, *parts: Any, **more: Any) -> None:
        super().__init__(*parts, **more)
        self._reads = RateCap(self.path.reads_per_second)
        self._most = max(1, int(self.path.reads_per_second / 10))

    def grant(self) -> None:
        """Call every few ms; credit that is not used is not saved up for later."""
        room = min(self._reads.room(self._clock.now_ns()), self._most - self.link.credit)
        if self.link_up and room > 0:
            self._reads.take(room)
            self.link.grant(room)
