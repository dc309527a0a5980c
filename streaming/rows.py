"""The rows that the job writes to `inflight.windows` and `inflight.live`: a contract with all readers.

Canonical JSON: keys sorted, no blanks, integers of ns. Two rows with the same identity are the same row.
"""

from __future__ import annotations

import json
from typing import Any, Final, Literal, TypedDict, cast

from collectors.texts import read_json

VERSION: Final = 1

Class = Literal["received", "refused", "lost", "unobserved"]
CLASSES: Final[tuple[Class, ...]] = (
    "received",
    "refused",
    "lost",
    "unobserved",
)  # `pending` in live rows too

# Percentiles by their name in rows, with the share of messages above each as a fraction (over, of).
PERCENTILES: Final[dict[str, tuple[int, int]]] = {
    "50": (1, 2),
    "90": (1, 10),
    "95": (1, 20),
    "99": (1, 100),
    "99.9": (1, 1_000),
    "99.99": (1, 10_000),
}


class Latency(TypedDict):
    """Of received messages; a percentile is there only where count × (1 − q) ≥ 1."""

    count: int
    min_ns: int
    max_ns: int
    mean_ns: int
    std_ns: int
    percentiles: dict[str, int]
    hdr: str  # HdrHistogram V2, compressed, base64: 1 ns to 1 h, 3 significant digits; negatives as 0


class Jitter(TypedDict):
    """Of ipdv: percentiles are of its absolute value, the extremes are signed."""

    count: int
    percentiles: dict[str, int]
    max_ns: int
    min_ns: int
    rfc3550_ns: int


class ClockState(TypedDict):
    """The receiver's clock against the sender's, of the pair with the largest bound."""

    offset_ns: int
    bound_ns: int


class Slowest(TypedDict):
    """The received message with the largest response latency."""

    stream: str
    seq: int
    response_ns: int


class Member(TypedDict):
    """An end that took part in the window."""

    role: str
    name: str
    run: str


class Named(TypedDict):
    """What every row says of its path."""

    v: int
    mesh: str
    path: str
    address: str
    source: str
    target: str
    presettled: bool


class WindowRow(Named):
    """A window of a path, final (revision 0) or revised. Identity: path, start, length, rules, revision."""

    window_start_ns: int
    window_ns: int
    rules: str
    revision: int
    complete: bool  # no flag that makes a number doubtful
    flags: list[str]
    sent: int
    classes: dict[Class, int]  # adds up to `sent`
    refused: dict[str, int]  # by rejected, released, modified
    lost: dict[str, int]  # by accepted, presettled, unsettled
    lost_detached: int
    received_though_refused: int
    moves: dict[str, int]  # "lost>received": cumulative since revision 0; `none`: not known to be sent
    late: int
    duplicate: int
    redelivered: int
    reordered: int
    foreign: int
    unexpected: int
    negative: int
    due: int
    unsent: dict[str, int]  # for good, by reason
    sent_bytes: int
    received_bytes: int
    response: Latency | None
    service: Latency | None
    jitter: Jitter | None
    outage_ns: int
    outage_since_ns: int | None  # an outage that was still going on at the window's end began then
    stalled_ns: int
    clock: ClockState | None
    slowest: Slowest | None
    routes: dict[str, int]
    members: list[Member]


class LiveEnd(TypedDict):
    """An end of a path as its newest record told it."""

    role: str
    name: str
    run: str
    link: str
    frontier_ns: int


class LiveRow(Named):
    """What is known now of a path's newest window with data; provisional, the last one wins."""

    at_ns: int  # the newest frontier of any of its ends
    window_start_ns: int
    window_ns: int
    sent: int
    received: int
    pending: int  # in all windows not final yet
    suspect: int  # pending for longer than max(1 s, 3 × the last final p99.9)
    oldest_pending_ns: int | None  # when it was sent, by the second
    behind_ns: int  # the age of the oldest message due and not sent
    last_received_ns: int | None
    outage_since_ns: int | None
    duplicate: int
    response: dict[str, int]  # percentiles and "max", "mean" of the newest window's received messages
    lower_bound: list[str]  # percentiles whose rank falls among the pending
    ends: list[LiveEnd]


_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def encode(row: WindowRow | LiveRow) -> bytes:
    """The row as canonical JSON."""
    return _ENCODER.encode(row).encode()


def decode_window(data: bytes) -> WindowRow:
    """ValueError where these bytes are no window row of this version."""
    return cast("WindowRow", _decode(data, _WINDOW_KEYS))


def decode_live(data: bytes) -> LiveRow:
    """ValueError where these bytes are no live row of this version."""
    return cast("LiveRow", _decode(data, _LIVE_KEYS))


def identity(row: WindowRow) -> tuple[str, int, int, str, int]:
    """Rows that agree in it are repeats of one another."""
    return row["path"], row["window_start_ns"], row["window_ns"], row["rules"], row["revision"]


_WINDOW_KEYS = frozenset(WindowRow.__annotations__)
_LIVE_KEYS = frozenset(LiveRow.__annotations__)


def _decode(data: bytes, keys: frozenset[str]) -> dict[str, Any]:
    row = read_json(data)
    if not isinstance(row, dict):
        raise ValueError("the row is not a JSON object")  # noqa: TRY004 -- bad data, not a bad call
    if row.get("v") != VERSION:
        raise ValueError(f"the row has version {row.get('v')!r}; this reader knows version {VERSION}")
    if row.keys() != keys:
        raise ValueError(f"the row's fields differ from version {VERSION}: {sorted(row.keys() ^ keys)}")
    return row
