"""Rows of windows and live rows, as the accounting makes them of what was sent and received."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hdrh.histogram import HdrHistogram

from collectors.contract.window_rows import WindowRow

from .ends import Receiver, Sender
from .parts import MS, SECOND, T0, Message
from .polls import MESH

REFUSED = ("rejected", "released", "modified")
FRONTIER_NS = 1_200 * MS  # how far what ends have told is behind, and the job behind that
REVISE_NS = 5 * SECOND


@dataclass(frozen=True, slots=True)
class PathEnds:
    """A path as its rows tell of it; clocks are what an end's is ahead of true time."""

    path: str
    address: str
    presettled: bool
    sender: Sender
    receivers: tuple[Receiver, ...]
    sender_clock_ns: int
    receiver_clock_ns: int
    bound_ns: int
    window_ns: int
    settle_ns: int
    traced: bool  # receivers see the routes


def window_of(ends: PathEnds, message: Message) -> int:
    return (message.sent_ns + ends.sender_clock_ns) // ends.window_ns * ends.window_ns


def class_at(ends: PathEnds, message: Message, ns: int) -> tuple[str, str]:
    """Return the class that a message of a closed window is in at a time, and the outcome known by then."""
    outcome = message.outcome if message.outcome_ns <= ns else "unsettled"
    if message.received_ns is not None and message.received_ns <= ns:
        return "received", outcome
    if outcome in REFUSED:
        return "refused", outcome
    end_ns = window_of(ends, message) + ends.window_ns + ends.settle_ns - ends.sender_clock_ns
    for receiver in ends.receivers:
        if any(start < end_ns and message.sent_ns < end for start, end in receiver.away):
            return "unobserved", outcome
    return "lost", outcome


def rows(ends: PathEnds, until_ns: int) -> Iterator[tuple[int, WindowRow]]:
    """Yield final rows in window order, revisions among them, each with when it was made, by true time."""
    windows: dict[int, list[Message]] = {}
    for message in ends.sender.sent:
        windows.setdefault(window_of(ends, message), []).append(message)
    unsent: dict[int, dict[str, int]] = {}
    for ns, reason in ends.sender.unsent:
        start = (ns + ends.sender_clock_ns) // ends.window_ns * ends.window_ns
        reasons = unsent.setdefault(start, {})
        reasons[reason] = reasons.get(reason, 0) + 1
    first = (T0 + ends.sender_clock_ns) // ends.window_ns * ends.window_ns + ends.window_ns
    for start in range(first, until_ns, ends.window_ns):
        final_ns = start + ends.window_ns + ends.settle_ns - ends.sender_clock_ns + FRONTIER_NS
        if final_ns >= until_ns:
            return
        messages = windows.get(start, [])
        missing = unsent.get(start, {})
        before = [class_at(ends, message, final_ns) for message in messages]
        yield final_ns, _row(ends, start, messages, before, 0, {}, missing)
        changes = sorted(
            {-(-ns // REVISE_NS) * REVISE_NS for m in messages for ns in _later(m, final_ns) if ns < until_ns}
        )
        revision, last = 0, [of for of, _ in before]
        for ns in changes:
            now = [class_at(ends, message, ns) for message in messages]
            if [of for of, _ in now] == last or ns >= until_ns:
                continue
            revision, last = revision + 1, [of for of, _ in now]
            moves: dict[str, int] = {}
            for (old, _), (new, _) in zip(before, now, strict=True):
                if old != new:
                    moves[f"{old}>{new}"] = moves.get(f"{old}>{new}", 0) + 1
            yield ns + FRONTIER_NS, _row(ends, start, messages, now, revision, moves, missing)


def _later(message: Message, ns: int) -> Iterator[int]:
    if message.received_ns is not None and message.received_ns > ns:
        yield message.received_ns
    if message.outcome_ns > ns:
        yield message.outcome_ns


def about(ends: PathEnds) -> dict[str, Any]:
    return {
        "v": 1,
        "mesh": MESH,
        "path": ends.path,
        "address": ends.address,
        "source": "east",
        "target": "west",
        "presettled": ends.presettled,
    }


def _row(
    ends: PathEnds,
    start: int,
    messages: Sequence[Message],
    classes: Sequence[tuple[str, str]],
    revision: int,
    moves: dict[str, int],
    unsent: dict[str, int],
) -> WindowRow:
    counts = dict.fromkeys(("received", "refused", "lost", "unobserved"), 0)
    refused, lost = dict.fromkeys(REFUSED, 0), dict.fromkeys(("accepted", "presettled", "unsettled"), 0)
    routes: dict[str, int] = {}
    latencies, detached = [], 0
    for message, (of, outcome) in zip(messages, classes, strict=True):
        counts[of] += 1
        if of == "refused":
            refused[outcome] += 1
        elif of == "lost":
            lost[outcome] += 1
            detached += _detached(ends, message)
        elif of == "received" and message.received_ns is not None:
            latencies.append(
                message.received_ns + ends.receiver_clock_ns - message.sent_ns - ends.sender_clock_ns
            )
            if ends.traced and message.stops:
                route = ">".join(message.stops)
                routes[route] = routes.get(route, 0) + 1
    sent = len(messages)
    latency = _latency(latencies)
    outage = [m.sent_ns for m, (of, _) in zip(messages, classes, strict=True) if of != "received"]
    row: dict[str, Any] = about(ends) | {
        "window_start_ns": start,
        "window_ns": ends.window_ns,
        "rules": "0a1b2c3d",
        "revision": revision,
        "complete": not counts["unobserved"],
        "flags": ["unobserved"] if counts["unobserved"] else [],
        "sent": sent,
        "classes": counts,
        "refused": refused,
        "lost": lost,
        "lost_detached": detached,
        "received_though_refused": sum(of == "received" and o in REFUSED for of, o in classes),
        "moves": moves,
        "late": moves.get("lost>received", 0),
        "duplicate": sum(message.duplicates for message in messages),
        "redelivered": 0,
        "reordered": 0,
        "foreign": 0,
        "unexpected": 0,
        "negative": sum(value < 0 for value in latencies),
        "due": sent + sum(unsent.values()),
        "unsent": {"no_credit": 0, "no_connection": 0, "guard": 0, "stalled": 0, **unsent},
        "sent_bytes": sent * 256,
        "received_bytes": counts["received"] * 256,
        "response": latency,
        "service": latency,
        "jitter": None,
        "outage_ns": max(outage) - min(outage) if outage else 0,
        "outage_since_ns": None,
        "stalled_ns": 0,
        "clock": {"offset_ns": ends.receiver_clock_ns - ends.sender_clock_ns, "bound_ns": ends.bound_ns},
        "slowest": None,
        "routes": routes,
        "members": [
            {"role": "sender", "name": ends.sender.name, "run": "00" * 8},
            *({"role": "receiver", "name": one.name, "run": "11" * 8} for one in ends.receivers),
        ],
    }
    return row  # type: ignore[return-value] # a row by construction


def _detached(ends: PathEnds, message: Message) -> bool:
    ns = message.sent_ns
    return any(any(start <= ns < end for start, end in receiver.detached) for receiver in ends.receivers)


def _latency(values_ns: list[int]) -> dict[str, Any] | None:
    if not values_ns:
        return None
    histogram = HdrHistogram(1, 3_600 * SECOND, 3)
    for value in values_ns:
        histogram.record_value(max(value, 0))
    ordered, n = sorted(values_ns), len(values_ns)
    shares = {"50": (1, 2), "90": (9, 10), "95": (19, 20), "99": (99, 100), "99.9": (999, 1_000)}
    return {
        "count": n,
        "min_ns": ordered[0],
        "max_ns": ordered[-1],
        "mean_ns": sum(ordered) // n,
        "std_ns": 0,
        "percentiles": {
            name: ordered[min(n - 1, n * part // whole)]
            for name, (part, whole) in shares.items()
            if n * (whole - part) >= whole
        },
        "hdr": histogram.encode().decode(),
    }
