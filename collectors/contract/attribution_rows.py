"""The rows on `inflight.attribution`: which hop lost, refused or delayed messages of a path's episode.

What the words mean stands in streaming/attribution.md. Canonical JSON; the key is the path.
Identity: (path, kind, episode_ns). Of rows with one identity the highest revision counts, whole.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypedDict, cast, get_args

from collectors.contract import type_check, window_rows
from collectors.contract.type_check import (
    Count,
    LengthNs,
    MaxItems,
    MaxLength,
    Name,
    PathOrAddress,
    SpanNs,
    TimeNs,
    Word,
)
from collectors.contract.untrusted_text import read_json

VERSION: Final = 1

# THE table of causes: rows, metrics, texts and runbook have these words and no others.
Cause = Literal[
    "dropped",  # presettled, no credit on the way out
    "no_route",  # a router without a way on
    "released",
    "modified",
    "rejected",
    "expired",
    "killed",  # dead-lettered
    "unrouted",  # a broker address without a queue
    "gone",  # with a link, router or broker that died
    "waiting",  # queued or unsettled: late, not lost
    "slow",  # kind `slow` only: where the time went
]
CAUSES: Final[tuple[Cause, ...]] = get_args(Cause)
Sum = Literal["lost", "refused", "late"]  # of which sum a hop explains a part; late: waiting, not missing yet
SUMS: Final[tuple[Sum, ...]] = get_args(Sum)
Kind = Literal["loss", "slow"]

MOST_HOPS: Final = 64


class Hop(TypedDict):
    """A hop that is to blame for a part; the first one of a row is the one to look at."""

    hop: Name  # as people read it: "B", "A → B", "C → receiver", "orders-a: inflight.orders"
    kind: Literal["router", "link", "end", "queue"]
    at: Name  # the router or broker
    to: Name  # the router behind the link; the queue; "receiver" or "sender"; empty for a router
    of: Sum
    cause: Cause
    lower: Count  # the truth is from lower to upper
    upper: Count
    said: Count  # what is counted as explained; the `said` of a sum never exceed it together
    exact: bool  # lower = upper, between quiet edges or by marking
    shared: bool  # its counter is of other traffic, too
    delay_ns: LengthNs  # of kind `slow`: how much of the delay
    evidence: Annotated[list[Annotated[str, MaxLength(512)]], MaxItems(16)]


class RouteStop(TypedDict):
    """A line of the table along the route: a station or the way between two; None: not known."""

    hop: Name
    into: Count | None
    out: Count | None
    lost: Count  # as in `hops`, lost and refused together
    cause: Word  # one of the causes, or empty


class Used(TypedDict):
    """A window that the row speaks of, and which of its revisions it used."""

    start_ns: TimeNs
    revision: Count


class Slow(TypedDict):
    """How slow, of kind `slow`."""

    percentile: Word
    normal_ns: SpanNs
    now_ns: SpanNs


class AttributionRow(TypedDict):
    """An episode of a path and the hops that explain it."""

    v: Literal[1]
    mesh: Name
    path: PathOrAddress
    address: PathOrAddress
    kind: Kind
    episode_ns: TimeNs  # the start of its first window when it was first told; never changes
    revision: Count
    final: bool  # all polls that can say anything are in
    open: bool  # it goes on
    continued: bool  # it was cut, and another one goes on from here
    merged_into: TimeNs | None  # the episode that holds its windows now
    from_ns: TimeNs
    to_ns: TimeNs
    made_ns: TimeNs
    windows: Annotated[list[Used], MaxItems(1_024)]
    sent: Count
    lost: Count
    refused: Count
    unobserved: Count
    unsent: Count
    suspect: Count  # missing for longer than usual, in windows that are not final
    hops: Annotated[list[Hop], MaxItems(MOST_HOPS)]
    unexplained_lost: Count  # lost less what is said
    unexplained_refused: Count
    route: Annotated[list[RouteStop], MaxItems(MOST_HOPS)]
    not_exact: Annotated[str, MaxLength(512)]  # why no hop is exact; empty where one is
    slow: Slow | None
    sentence: Annotated[str, MaxLength(1_024)]


_ROW: Final = type_check.checker(AttributionRow)


def encode(row: AttributionRow) -> bytes:
    """Returns the row as canonical JSON."""
    return window_rows.canonical(row)


def decode(data: bytes) -> AttributionRow:
    """Raises ValueError where these bytes are no attribution row of this version."""
    row = read_json(data)
    if isinstance(row, dict) and row.get("v") != VERSION:
        raise ValueError(f"the row has version {str(row.get('v'))[:20]}; this reader knows version {VERSION}")
    return check(row)


def check(row: Any) -> AttributionRow:
    """Returns the same row. Raises ValueError where any of its fields is wrong, missing or unknown."""
    _ROW(row, "row")
    for of in ("lost", "refused"):
        said = sum(hop["said"] for hop in row["hops"] if hop["of"] == of)
        if said + row[f"unexplained_{of}"] != row[of]:
            raise ValueError(f"what is explained of {of} and what is not do not add up")
    if row["from_ns"] > row["to_ns"]:
        raise ValueError("the row ends before it begins")
    if any(not hop["lower"] <= hop["said"] <= hop["upper"] for hop in row["hops"]):
        raise ValueError("what is said of a hop is not within its bounds")
    return cast("AttributionRow", row)


def identity(row: AttributionRow) -> tuple[str, str, int]:
    """Returns what tells episodes apart."""
    return row["path"], row["kind"], row["episode_ns"]
