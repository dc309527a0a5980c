"""When a receiver's process stood still, and until it has caught up: nobody watched then."""

from __future__ import annotations

from typing import Final

from collectors.contract.records import SECOND_NS, Span

# The peer needs a moment to get credit again, and to hand out what it kept meanwhile.
_SETTLING_NS: Final = SECOND_NS


class Watch:
    """Of one receiver."""

    def __init__(self, from_ns: int) -> None:
        self._from_ns = from_ns
        self.unwatched_ns: int | None = None  # since then
        self._until_ns = 0  # at least
        self._linked = True  # or the link was gone before

    def stood_still(self, from_ns: int, to_ns: int) -> None:
        if self.unwatched_ns is None:
            self.unwatched_ns = max(from_ns, self._from_ns)
        self._until_ns = to_ns + _SETTLING_NS

    def link_begins(self, now_ns: int) -> None:
        if not self._linked:
            self._linked, self._until_ns = True, now_ns + _SETTLING_NS

    def link_ends(self) -> None:
        """While it catches up: the peer may have lost patience, so it has not caught up before it is back."""
        self._linked = self.unwatched_ns is None

    def take(self, now_ns: int, *, is_read: bool) -> tuple[Span, ...]:
        """What a publication until now has to say; `is_read`: nothing is left in the socket."""
        if self.unwatched_ns is None:
            return ()
        span = Span(self.unwatched_ns, now_ns)
        is_over = self._linked and is_read and now_ns >= self._until_ns
        self.unwatched_ns = None if is_over else now_ns
        return (span,)
