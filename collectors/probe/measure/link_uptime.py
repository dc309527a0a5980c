"""Whether an end's link is up, when it was not, and why not."""

from __future__ import annotations

import logging
from typing import Any, Final

from collectors.contract.records import Span

_log: Final = logging.getLogger("inflight.probe")


class LinkUptime:
    """One end's link, from the end's beginning on; there is no link then."""

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
            self._add_down(self._down_since, now_ns)
            self._down_since = None

    def ends(self, now_ns: int, reason: str) -> None:
        """The link is gone, or was refused; logs a reason that is new."""
        was_up, is_new = self.up, reason != self.problem
        self.problem = reason
        self.up = False
        if was_up:
            _log.warning("%s: the link is gone: %s", self._whose, reason)
        elif is_new:
            _log.warning("%s: there is no link: %s", self._whose, reason)
        if self._down_since is None:
            self._down_since = now_ns

    @property
    def state(self) -> dict[str, Any]:
        """The fields that every record has of it."""
        return {"link": "attached" if self.up else "detached"}

    def take_spans(self, now_ns: int) -> dict[str, Any]:
        """Returns the fields of a publication's last record: when the link was down since the last call."""
        if self._down_since is not None:
            self._add_down(self._down_since, now_ns)
            self._down_since = max(self._down_since, now_ns)
        spans, self._down = tuple(self._down), []
        return {"detached": spans}

    def _add_down(self, from_ns: int, to_ns: int) -> None:
        if from_ns < to_ns:
            self._down.append(Span(from_ns, to_ns))
