"""How many messages may be out: without an outcome, or without an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from collectors.probe.measure.guard import RateCap


class OutcomeWindow(RateCap):
    """Room for messages while fewer than `size` have no outcome yet."""

    def __init__(self, size: int, unsettled: Callable[[], int]) -> None:
        super().__init__(0)
        self._size, self._unsettled = size, unsettled

    def room(self, now_ns: int) -> int:  # noqa: ARG002 -- its parent's
        return max(0, self._size - self._unsettled())

    def take(self, count: int) -> None: ...


class AnswerWindow(RateCap):
    """Room for questions while fewer than `size` wait for their answers.

    One whose answer has not come after `patience_ns`, or that was given back, is not waited for any longer:
    the accounting says what became of it.
    """

    def __init__(self, size: int, next_number: Callable[[], int], patience_ns: int) -> None:
        super().__init__(0)
        self._size, self._next_number, self._patience_ns = size, next_number, patience_ns
        self._known = 0
        self._open: Final[dict[int, int]] = {}  # number: by when it was asked, oldest first
        self.unanswered = 0

    def room(self, now_ns: int) -> int:
        self._look(now_ns)
        while self._open:
            number, asked_ns = next(iter(self._open.items()))
            if now_ns - asked_ns < self._patience_ns:
                break
            del self._open[number]
            self.unanswered += 1
        return max(0, self._size - len(self._open))

    def take(self, count: int) -> None: ...

    def closed(self, numbers: Iterable[int], now_ns: int) -> bool:
        """They were answered, or will not be; returns whether one of them was waited for."""
        self._look(now_ns)
        before = len(self._open)
        for number in numbers:
            self._open.pop(number, None)
        return len(self._open) < before

    def _look(self, now_ns: int) -> None:
        """Takes in what was asked since it last looked: by now at the latest."""
        below = self._next_number()
        for number in range(self._known, below):
            self._open[number] = now_ns
        self._known = below
