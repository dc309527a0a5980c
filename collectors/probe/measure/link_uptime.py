"""Whether an end's link is up, when it was not, and why not: for the records, and for people."""

from __future__ import annotations

import logging
from typing import Any, Final

from collectors.contract.records import Span

_log: Final = logging.getLogger("inflight.probe")


class Attachment:
    """From the end's beginning on, when there is no link yet."""

    def __init__(self, whose: str, now_ns: int) -> None:
        self._whose = whose
        self.up = False
        self.since_ns = now_ns  # of the newest link
        self.problem = "the peer has not answered yet"
        self._down_since: int | None = now_ns
        self._down: list[Span] = []

    def begins(self, now_ns: int) -> None:
        self.up = True
        self.since_ns = now_ns
        self.problem = ""
        if self._down_since is not None:
            self._note(self._down_since, now_ns)
            self._down_since = None

    def ends(self, now_ns: int, reason: str) -> None:
        """The link is gone, or was refused."""
        if self.up:
            _log.warning("%s: the link is gone: %s", self._whose, reason)
        elif reason != self.problem:
            _log.warning("%s: there is no link: %s", self._whose, reason)
        self.up = False
        self.problem = reason
        if self._down_since is None:
            self._down_since = now_ns

    @property
    def state(self) -> dict[str, Any]:
        """What any record says of it."""
        return {"link": "attached" if self.up else "detached"}

    def take_spans(self, now_ns: int) -> dict[str, Any]:
        """What the last record of a publication says: when the link was down since the one before."""
        if self._down_since is not None:
            self._note(self._down_since, now_ns)
            self._down_since = max(self._down_since, now_ns)
        spans, self._down = tuple(self._down), []
        return {"detached": spans}

    def _note(self, from_ns: int, to_ns: int) -> None:
        if from_ns < to_ns:
            self._down.append(Span(from_ns, to_ns))
