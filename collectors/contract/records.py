"""The records that probes write to `inflight.samples`; record_codec.py reads and writes their bytes.

`received` and `ledger` records have rows, `alive` and `bye` have none. streaming/accounting.md says what the
fields mean and what the job makes of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

FORMAT: Final = 2
MAX_ROWS: Final = 16_384  # of one record; a second of 100,000 rows would be over Kafka's usual limits
MAX_BYTES: Final = 1_000_000  # of one encoded record
SECOND_NS: Final = 1_000_000_000
NUMBERS_BELOW: Final = 1 << 62  # leaves room to add a window or a horizon without leaving 64 bits

Kind = Literal["received", "ledger", "alive", "bye"]
Role = Literal["sender", "receiver"]
Link = Literal["attached", "detached"]
Outcome = Literal["presettled", "accepted", "rejected", "released", "modified", "unsettled"]
UnsentReason = Literal["no_credit", "no_connection", "guard", "stalled"]

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)  # a ledger row's `outcome` is an index into these
UNSENT_REASONS: Final[tuple[UnsentReason, ...]] = get_args(UnsentReason)
FLAG_REDELIVERED: Final = 1
FLAG_REORDERED: Final = 2

Ints = NDArray[np.int64]
Integers = NDArray[np.integer[Any]]
Bytes = NDArray[np.uint8]

BadRecordReason = Literal["malformed", "version", "oversized"]


class BadRecord(Exception):  # noqa: N818 -- it is the record that is bad
    """Bytes that are not a record of this format; they are counted by `reason`."""

    def __init__(self, reason: BadRecordReason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: Final = reason
        self.detail: Final = detail


class Gap(NamedTuple):
    """Records of an end that were given up: `first` to `last`, and the time that they covered."""

    first: int
    last: int
    from_ns: int
    to_ns: int


class Span(NamedTuple):
    """A time of an end, [from_ns, to_ns)."""

    from_ns: int
    to_ns: int


class Clock(NamedTuple):
    """A receiver's clock minus a sender's, and how far off that may be."""

    offset_ns: int
    bound_ns: int


_NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})


class Header(NamedTuple):
    """What a record says of the end that wrote it, and what is added by its kind."""

    # The same in all records of a run; record_header.OF_RUN names them.
    mesh: str
    path: str
    address: str
    source: str  # the endpoint that sends, and the one that receives: labels, nothing more
    target: str
    role: Role
    name: str  # of the end, as configured: stays the same over restarts
    run: str  # 16 hex digits, new with each start of the process
    observed_from_ns: int  # the run measures since then
    senders: int  # as configured
    receivers: int

    kind: Kind
    number: int  # of this record among the end's, from 0
    frontier_ns: int  # everything it saw until then is published with this record

    # The same in all records of a run, too.
    multicast: bool = False  # outcomes are then of the whole fan-out
    via_broker: bool = False
    presettled: bool = False
    warmup: bool = False  # a run of its own, which the accounting ignores

    link: Link = "attached"
    peer: str = ""  # the container id of who it is attached to, or was last
    detached: tuple[Span, ...] = ()  # when the link was down, since the record before
    gaps: tuple[Gap, ...] = ()
    unwatched: tuple[Span, ...] = ()  # of a receiver: its process stood still, or was catching up

    # received, ledger
    stream: str = ""  # the run of the sender whose numbers these are
    second: int = 0  # the rows' messages were sent in [second, second + 1)
    body_bytes: int = 0  # of all the rows' messages together

    # received
    rfc3550_ns: int = 0  # the smoothed jitter estimate after the last row
    routes: Mapping[str, int] = _NOTHING  # messages by route, where routers tell it

    # of receivers, in any kind
    clock: Mapping[str, Clock] = _NOTHING  # by stream
    foreign: int = 0  # bodies that are not ours, or not of this flow, since the record before

    # ledger: of the second; the highest revision wins
    revision: int = 0
    due: int = 0  # messages that the schedule wanted sent in this second
    backlog: int = 0  # of them, not sent yet
    unsent: Mapping[UnsentReason, int] = _NOTHING  # of them, given up for good

    # of senders, in any kind
    oldest_due_ns: int | None = None  # the intended time of the oldest message not sent yet


class Received(NamedTuple):
    """Columns of a `received` record, in order of arrival, as differences of any integer type.

    Numbers are counted from `base`, send times from `start_ns`.
    """

    base: int
    start_ns: int
    from_base: Integers
    from_start_ns: Integers
    delay_ns: Integers  # sent − intended
    service_ns: Integers  # received − sent
    ipdv_ns: Integers  # 0 where it is not present
    present: NDArray[np.bool_] | None  # whether there is an ipdv; None: always
    flags: Bytes

    @classmethod
    def of(
        cls,
        seq: Ints,
        intended_ns: Ints,
        sent_ns: Ints,
        received_ns: Ints,
        ipdv_ns: Ints,
        has_ipdv: NDArray[np.bool_],
        flags: Bytes,
    ) -> Received:
        """Make it of absolute numbers and times."""
        base = max(int(seq.min()), 0) if len(seq) else 0
        start_ns = int(sent_ns.min()) // SECOND_NS * SECOND_NS if len(seq) else 0
        return cls(
            base,
            start_ns,
            seq - base,
            sent_ns - start_ns,
            sent_ns - intended_ns,
            received_ns - sent_ns,
            ipdv_ns,
            None if has_ipdv.all() else has_ipdv,
            flags,
        )

    @property
    def size(self) -> int:
        return len(self.flags)

    @property
    def contiguous(self) -> tuple[int, int] | None:
        """The first number and the one after the last, if all between are there and in order."""
        numbers = self.from_base
        first, last = int(numbers[0]), int(numbers[-1])
        if last - first + 1 != len(numbers) or not (numbers[1:] > numbers[:-1]).all():
            return None
        return self.base + first, self.base + last + 1

    @property
    def seq(self) -> Ints:
        return np.add(self.from_base, self.base, dtype=np.int64)

    @property
    def sent_ns(self) -> Ints:
        return np.add(self.from_start_ns, self.start_ns, dtype=np.int64)

    @property
    def intended_ns(self) -> Ints:
        return self.sent_ns - self.delay_ns

    @property
    def received_ns(self) -> Ints:
        return self.sent_ns + self.service_ns

    @property
    def has_ipdv(self) -> NDArray[np.bool_]:
        return np.ones(self.size, np.bool_) if self.present is None else self.present

    def only(self, some: NDArray[np.bool_]) -> Received:
        """Return the rows of this mask."""
        return self._replace(
            from_base=self.from_base[some],
            from_start_ns=self.from_start_ns[some],
            delay_ns=self.delay_ns[some],
            service_ns=self.service_ns[some],
            ipdv_ns=self.ipdv_ns[some],
            present=None if self.present is None else self.present[some],
            flags=self.flags[some],
        )


class Ledger(NamedTuple):
    """Columns of a `ledger` record: ranges of numbers with one outcome, in order of `first_seq`."""

    first_seq: Ints
    length: Ints
    outcome: Bytes


class Record(NamedTuple):
    """A record that was read, with the rows of its kind."""

    header: Header
    received: Received | None = None
    ledger: Ledger | None = None


def flow_hash(mesh: str, address: str) -> int:
    """Return 64 bits that tell one flow's message bodies from another's."""
    digest = hashlib.blake2b(f"{mesh}\0{address}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")
