"""Requests that wait for their replies, and how many more may be sent meanwhile."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from collectors.router.asked import AskedRouter
from collectors.router.management import Request

# A router drops presettled messages, which replies are, once more than a link's capacity wait: 250 unless
# told otherwise. One that answers slowly must not hold the others' places either.
MAX_WAITING: Final = 128
PATIENCE_NS: Final = 300_000_000


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request on its way."""

    asked: AskedRouter
    request: Request
    at_ns: int
    ended_before: int  # how many of the poll's requests had come to their end by then


class InFlight:
    """Requests by their tags, in the order in which they were sent."""

    def __init__(self, tags: Iterator[int]) -> None:
        self._tags = tags
        self._waiting: dict[str, SentRequest] = {}
        self._answered: set[str] = set()
        self._now_ns = 0
        self.sent = 0  # in all

    def __len__(self) -> int:
        return len(self._waiting)

    def room(self, now_ns: int, credit: int) -> int:
        """Return how many requests may be sent now; slow ones have given up their places."""
        self._now_ns = now_ns
        slow = sum(1 for _ in itertools.takewhile(self._is_slow, self._waiting.values()))
        return min(credit, MAX_WAITING - (len(self._waiting) - slow))

    def add(self, asked: AskedRouter, request: Request) -> str:
        """Return the tag to send the request with."""
        tag = str(next(self._tags))
        self._waiting[tag] = SentRequest(asked, request, self._now_ns, self.sent - len(self._waiting))
        self.sent += 1
        return tag

    def answered(self, tag: str) -> SentRequest | None:
        """Take out the request that a reply belongs to, if one waits for it."""
        sent = self._waiting.pop(tag, None)
        if sent is not None:
            self._answered.add(tag)
        return sent

    def was_answered(self, tag: str) -> bool:
        return tag in self._answered

    def returned(self, tag: str) -> SentRequest | None:
        """Take out a request that could not be delivered."""
        return self._waiting.pop(tag, None)

    def give_up(self) -> list[SentRequest]:
        """Take out all that still wait."""
        left = [*self._waiting.values()]
        self._waiting.clear()
        return left

    def next_wake_ns(self) -> int | None:
        """Return when the next request becomes slow, and so a place free."""
        waiting = itertools.dropwhile(self._is_slow, self._waiting.values())
        return next((sent.at_ns + PATIENCE_NS for sent in waiting), None)

    def _is_slow(self, sent: SentRequest) -> bool:
        return self._now_ns - sent.at_ns >= PATIENCE_NS
