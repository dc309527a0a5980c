"""When a receiver was unwatched: from when its process stood still until it has caught up."""

from __future__ import annotations

from typing import Final

from collectors.contract.records import SECOND_NS, Span

# The peer needs a moment to get credit again, and to deliver what it kept meanwhile.
_SETTLING_NS: Final = SECOND_NS


class Standstill:
    """The unwatched time of one receiver."""

    def __init__(self, from_ns: int) -> None:
        self._from_ns = from_ns
        self.unwatched_ns: int | None = None  # since when
        self._until_ns = 0  # it is unwatched until then at least
        self._linked = True  # False: the link went while it was catching up

    def stood_still(self, from_ns: int, to_ns: int) -> None:
        if self.unwatched_ns is None:
            self.unwatched_ns = max(from_ns, self._from_ns)
        self._until_ns = to_ns + _SETTLING_NS

    def link_begins(self, now_ns: int) -> None:
        if not self._linked:
            self._linked, self._until_ns = True, now_ns + _SETTLING_NS

    def link_ends(self) -> None:
        """Call when the link is gone; an end that was catching up has not done so before it is back."""
        self._linked = self.unwatched_ns is None

    def take(self, now_ns: int, *, is_read: bool) -> tuple[Span, ...]:
        """Returns what was unwatched since the last call; `is_read`: nothing is left in the socket."""
        if self.unwatched_ns is None:
            return ()
        span = Span(self.unwatched_ns, now_ns)
        is_over = self._linked and is_read and now_ns >= self._until_ns
        self.unwatched_ns = None if is_over else now_ns
        return (span,)
