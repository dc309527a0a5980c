"""Which presettled messages are out on the socket: they have no other outcome."""

from __future__ import annotations

from collections import deque


class Written:
    """Marks in the stream of bytes: when so many are written, the numbers below are out."""

    def __init__(self) -> None:
        self.below = 0  # numbers below are out on the socket
        self._marks: deque[tuple[int, int]] = deque()

    def mark(self, bytes_by_then: int, below: int) -> None:
        """Numbers below this one are among the bytes up to there."""
        last = self._marks[-1][1] if self._marks else self.below
        if below > last:
            self._marks.append((bytes_by_then, below))

    def advance(self, written_bytes: int) -> None:
        """So many bytes were written since the process began."""
        while self._marks and self._marks[0][0] <= written_bytes:
            self.below = self._marks.popleft()[1]

    def lost(self, next_seq: int) -> range:
        """The connection is gone: the numbers that may never have left. What comes next begins anew."""
        numbers = range(self.below, next_seq)
        self.below = next_seq
        self._marks.clear()
        return numbers
