"""Requests to routers at a bounded rate, and the replies that belong to them. It knows no sockets."""

from __future__ import annotations

import itertools
from collections import Counter, deque
from typing import Final

from collectors.router import management
from collectors.router.asked import AskedRouter
from collectors.router.in_flight import InFlight, SentRequest
from collectors.router.management import Reply, Request
from collectors.router.replies import BadReply

MAX_RATE: Final = 50  # requests a second, to all routers together
_SECOND_NS: Final = 1_000_000_000


class Asking:
    """Two queues that take turns: round trips to measure, and questions about the route."""

    def __init__(self, rate: float) -> None:
        self._pause_ns = round(_SECOND_NS / rate)
        self._next_ns = 0
        self._trips: deque[tuple[AskedRouter, Request]] = deque()
        self._questions: deque[tuple[AskedRouter, Request]] = deque()
        self._in_flight = InFlight(itertools.count(1))
        self._turn = 0
        self.unusable: Counter[str] = Counter()  # replies that belong to no request

    def measure(self, asked: AskedRouter, request: Request) -> None:
        self._trips.append((asked, request))

    def question(self, asked: AskedRouter, request: Request) -> None:
        self._questions.append((asked, request))

    @property
    def trips_due(self) -> int:
        return len(self._trips)

    @property
    def questions_due(self) -> int:
        return len(self._questions)

    def take(self, now_ns: int, credit: int) -> tuple[str, AskedRouter, Request, bool] | None:
        """Return the tag, the router, the request, and whether it is to be measured, if one may go now."""
        room = self._in_flight.room(now_ns, credit)
        if now_ns < self._next_ns or room <= 0 or not (self._trips or self._questions):
            return None
        self._turn += 1
        measured = bool(self._trips) and (self._turn % 2 == 0 or not self._questions)
        asked, request = (self._trips if measured else self._questions).popleft()
        self._next_ns = now_ns + self._pause_ns
        return self._in_flight.add(asked, request), asked, request, measured

    def next_ns(self) -> int | None:
        """Return when the next request may go, if one waits."""
        return self._next_ns if self._trips or self._questions else None

    def answered(self, data: bytes) -> tuple[SentRequest, Reply] | None:
        """Return the reply with its request; nothing for what was not asked, or came before."""
        try:
            reply = management.decode(data)
        except BadReply as bad:
            self.unusable[bad.reason] += 1
            return None
        sent = self._in_flight.answered(reply.tag)
        if sent is None:
            self.unusable["repeated" if self._in_flight.was_answered(reply.tag) else "foreign"] += 1
            return None
        return sent, reply

    def returned(self, tag: str) -> SentRequest | None:
        """Return the request that could not be delivered."""
        return self._in_flight.returned(tag)
