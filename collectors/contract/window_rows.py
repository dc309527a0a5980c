"""The rows that the job writes to `inflight.windows` and `inflight.live`: a contract with all readers.

Canonical JSON: keys sorted, no blanks, integers of ns. Two rows with the same identity are the same row.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Literal, TypedDict, cast, get_args

from collectors.contract import type_check
from collectors.contract.records import Link, Role
from collectors.contract.type_check import (
    Between,
    Count,
    LengthNs,
    MaxItems,
    MaxLength,
    Name,
    PathOrAddress,
    Route,
    SpanNs,
    TimeNs,
    Word,
)
from collectors.contract.untrusted_text import read_json

VERSION: Final = 1

# THE table of classes, in the order in which people read them: rows, counters, archive and metrics have one
# field, series or column for each. Which class a message is in, streaming/accounting/classes.py decides.
# Kept state tells a class by its place here: a new one goes to the end.
Class = Literal["received", "refused", "lost", "unobserved"]
CLASSES: Final[tuple[Class, ...]] = get_args(Class)
NO_CLASS: Final = "none"  # in moves, of a number that is not known to be sent

# Percentiles by their name in rows, with the share of messages above each as a fraction (over, of).
PERCENTILES: Final[dict[str, tuple[int, int]]] = {
    "50": (1, 2),
    "90": (1, 10),
    "95": (1, 20),
    "99": (1, 100),
    "99.9": (1, 1_000),
    "99.99": (1, 10_000),
}


# What data from outside may come to in a row; a deployment never comes near it.
ENDS: Final = 1_024
WindowNs = Annotated[int, Between(1_000_000_000, 1 << 62)]
Counts = Annotated[dict[Word, Count], MaxItems(64)]
Spans = Annotated[dict[Word, SpanNs], MaxItems(64)]
# HdrHistogram V2, compressed, base64: 1 ns to 1 h, 3 significant digits; negatives as 0.
Packed = Annotated[str, MaxLength(1 << 20)]


class Latency(TypedDict):
    """Latencies of received messages; a percentile is there only where count × (1 − q) ≥ 1."""

    count: Count
    min_ns: SpanNs
    max_ns: SpanNs
    mean_ns: SpanNs
    std_ns: LengthNs
    percentiles: Spans
    hdr: Packed


class Jitter(TypedDict):
    """Figures of ipdv: percentiles are of its absolute value, the extremes are signed."""

    count: Count
    percentiles: Spans
    max_ns: SpanNs
    min_ns: SpanNs
    rfc3550_ns: LengthNs


class ClockState(TypedDict):
    """The receiver's clock against the sender's, of the pair with the largest bound."""

    offset_ns: SpanNs
    bound_ns: LengthNs


class Slowest(TypedDict):
    """The received message with the largest response latency."""

    stream: Word
    seq: Count
    response_ns: SpanNs


class Member(TypedDict):
    """An end that took part in the window."""

    role: Role
    name: Name
    run: Word


class Named(TypedDict):
    """What each row says of its path."""

    v: Literal[1]
    mesh: Name
    path: PathOrAddress
    address: PathOrAddress
    source: Name
    target: Name
    presettled: bool


class WindowRow(Named):
    """A window of a path, final (revision 0) or revised. Identity: path, start, length, rules, revision."""

    window_start_ns: TimeNs
    window_ns: WindowNs
    rules: Word
    revision: Count
    complete: bool  # no flag that makes a number doubtful
    flags: Annotated[list[Word], MaxItems(64)]
    sent: Count
    classes: dict[Class, Count]  # adds up to `sent`
    refused: Counts  # by rejected, released, modified
    lost: Counts  # by accepted, presettled, unsettled
    lost_detached: Count
    received_though_refused: Count
    moves: Counts  # "lost>received": cumulative since revision 0
    late: Count
    duplicate: Count
    redelivered: Count
    reordered: Count
    foreign: Count
    unexpected: Count
    negative: Count
    due: Count
    unsent: Counts  # for good, by reason
    sent_bytes: Count
    received_bytes: Count
    response: Latency | None
    service: Latency | None
    jitter: Jitter | None
    outage_ns: LengthNs
    outage_since_ns: TimeNs | None  # an outage that was still going on at the window's end began then
    stalled_ns: LengthNs
    clock: ClockState | None
    slowest: Slowest | None
    routes: Annotated[dict[Route, Count], MaxItems(256)]
    members: Annotated[list[Member], MaxItems(ENDS)]


class LiveEnd(TypedDict):
    """An end of a path as its newest record told it."""

    role: Role
    name: Name
    run: Word
    link: Link
    frontier_ns: TimeNs
    peer: Name  # the container id of the router or broker that it is attached to; empty where not known


class LiveRow(Named):
    """What is known now of a path: of its newest window with data and all open ones. The last row wins."""

    at_ns: TimeNs  # the newest frontier of any of its ends
    appended_ns: TimeNs  # when Kafka took the newest of its records; 0: not known
    window_start_ns: TimeNs
    window_ns: WindowNs
    sent: Count
    received: Count
    pending: Count  # in all windows not final yet
    suspect: Count  # pending for longer than max(1 s, 3 × the last final p99.9)
    oldest_pending_ns: TimeNs | None  # when it was sent, by the second
    behind_ns: LengthNs  # the age of the oldest message due and not sent
    last_received_ns: TimeNs | None
    outage_since_ns: TimeNs | None
    duplicate: Count
    response: Spans  # percentiles and "max", "mean" of the newest window's received messages
    lower_bound: Annotated[list[Word], MaxItems(64)]  # percentiles whose rank falls among the pending
    ends: Annotated[list[LiveEnd], MaxItems(ENDS)]


_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def encode(row: WindowRow | LiveRow) -> bytes:
    """Returns the row as canonical JSON."""
    return canonical(row)


def canonical(row: Any) -> bytes:
    """Returns JSON with sorted keys and no blanks."""
    return _ENCODER.encode(row).encode()


def decode_window(data: bytes) -> WindowRow:
    """Raises ValueError where these bytes are no window row of this version."""
    return check_window(_read(data))


def decode_live(data: bytes) -> LiveRow:
    """Raises ValueError where these bytes are no live row of this version."""
    return check_live(_read(data))


def check_window(row: Any) -> WindowRow:
    """Returns the same row. Raises ValueError where any of its fields is wrong, missing or unknown."""
    _WINDOW(row, "row")
    return cast("WindowRow", row)


def check_live(row: Any) -> LiveRow:
    """Does the same for a live row; one of an older job is made whole."""
    if isinstance(row, dict):
        row.setdefault("appended_ns", 0)
    ends = row.get("ends") if isinstance(row, dict) else None
    for end in ends if isinstance(ends, list) else ():
        if isinstance(end, dict):
            end.setdefault("peer", "")
    _LIVE(row, "row")
    return cast("LiveRow", row)


def identity(row: WindowRow) -> tuple[str, int, int, str, int]:
    """Returns what tells rows apart: those that agree in it are repeats of one another."""
    return row["path"], row["window_start_ns"], row["window_ns"], row["rules"], row["revision"]


def _read(data: bytes) -> Any:
    row = read_json(data)
    if isinstance(row, dict) and row.get("v") != VERSION:
        raise ValueError(f"the row has version {str(row.get('v'))[:20]}; this reader knows version {VERSION}")
    return row


_WINDOW: Final = type_check.checker(WindowRow)
_LIVE: Final = type_check.checker(LiveRow)
