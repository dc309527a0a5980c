"""Live rows: what is known of a path while its windows are open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from collectors.contract.window_rows import LiveRow

from .parts import SECOND, T0
from .windows import FRONTIER_NS, PathEnds, about, class_at, window_of

LIVE_NS = 5 * SECOND


def rows(ends: PathEnds, until_ns: int) -> Iterator[tuple[int, LiveRow]]:
    """Yield a live row each five seconds: of the newest window with data and all that are open."""
    sent = ends.sender.sent
    first = 0
    open_ns = ends.window_ns * 2 + ends.settle_ns + FRONTIER_NS
    for ns in range(T0 + LIVE_NS, until_ns, LIVE_NS):
        told_ns = ns - FRONTIER_NS
        while first < len(sent) and sent[first].sent_ns < told_ns - open_ns:
            first += 1
        waiting, newest, oldest, last, suspect = 0, 0, None, None, 0
        newest_start, received = 0, 0
        for index in range(first, len(sent)):
            message = sent[index]
            if message.sent_ns > told_ns:
                break
            start = window_of(ends, message)
            if start != newest_start:
                newest_start, newest, received = start, 0, 0
            newest += 1
            of, _ = class_at(ends, message, told_ns)
            if of == "received":
                received += 1
                last = message.received_ns
            elif of == "lost" and start + ends.window_ns + ends.settle_ns > told_ns:
                waiting += 1
                oldest = message.sent_ns if oldest is None else oldest
                suspect += message.sent_ns < told_ns - SECOND
        if newest_start:
            yield ns, _live(ends, told_ns, newest_start, (newest, received, waiting, suspect), oldest, last)


def _live(
    ends: PathEnds,
    told_ns: int,
    start: int,
    counts: tuple[int, int, int, int],
    oldest_ns: int | None,
    last_ns: int | None,
) -> LiveRow:
    sent, received, pending, suspect = counts
    oldest = None if oldest_ns is None else (oldest_ns + ends.sender_clock_ns) // SECOND * SECOND
    row: dict[str, Any] = about(ends) | {
        "at_ns": told_ns + ends.sender_clock_ns,
        "appended_ns": told_ns + SECOND // 5,  # by Kafka's clock, which is right
        "window_start_ns": start,
        "window_ns": ends.window_ns,
        "sent": sent,
        "received": received,
        "pending": pending,
        "suspect": suspect,
        "oldest_pending_ns": oldest,
        "behind_ns": 0,
        "last_received_ns": None if last_ns is None else last_ns + ends.receiver_clock_ns,
        "outage_since_ns": None,
        "duplicate": 0,
        "response": {},
        "lower_bound": [],
        "ends": [
            _end("sender", ends.sender.name, ends.sender.at.name, told_ns + ends.sender_clock_ns),
            *(
                _end("receiver", one.name, one.at.name, told_ns + ends.receiver_clock_ns)
                for one in ends.receivers
            ),
        ],
    }
    return row  # type: ignore[return-value] # a row by construction


def _end(role: str, name: str, peer: str, frontier_ns: int) -> dict[str, Any]:
    run = "00" * 8 if role == "sender" else "11" * 8
    return {
        "role": role,
        "name": name,
        "run": run,
        "link": "attached",
        "frontier_ns": frontier_ns,
        "peer": peer,
    }
