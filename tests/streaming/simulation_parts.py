"""What the simulated network is made of. See simulation.py."""

from __future__ import annotations

from dataclasses import dataclass, field

from collectors.contract.records import SECOND_NS, Record

T0_NS = 1_700_000_000 * SECOND_NS
FLUSH_NS = SECOND_NS


@dataclass(kw_only=True)
class Knobs:
    """What the network does; the rest is drawn from the seed."""

    seed: int = 0
    seconds: int = 24
    rate: int = 3  # messages a second, of each sender
    senders: int = 1
    receivers: int = 1
    presettled: bool = False
    multicast: bool = False
    lose: float = 0.0
    duplicate: float = 0.0
    refuse: float = 0.0
    refuse_yet_deliver: float = 0.0
    late: float = 0.0  # arrive after they have settled
    unsettled: float = 0.0
    reorder: bool = False
    foreign: bool = False
    sender_restarts: str = ""  # "", "bye" or "kill"
    receiver_restarts: str = ""
    spooled: bool = False  # what a killed end had not published comes later, instead of being lost
    stays_away: bool = False  # a killed end has no successor
    detach: bool = False
    stands_still: bool = False  # each receiver once, for some seconds
    declared_gap: bool = False
    withheld: bool = False  # one end's records come late, in a burst
    skew_ns: int = 0
    clocks_known: bool = True
    joined_late: bool = False  # the receiver begins in the middle
    cut: float = 0.0  # of the topic, at the front
    drop: float = 0.0  # records that are lost undeclared
    repeat: float = 0.0
    horizon_ns: int = 60 * SECOND_NS
    no_ledger: bool = False  # a killed sender's ledger is lost as a whole
    outage: str = ""  # of Kafka, for "all", "senders" or "receivers": their records come late, and at once


@dataclass
class Message:
    """The truth of one message."""

    stream: str
    seq: int
    sent_ns: int  # as the sender's clock says
    intended_ns: int
    outcome: str
    arrivals: list[tuple[str, int]] = field(default_factory=list)  # receiver run, true time
    missed: bool = False  # it would have arrived, had its receiver not stood still


@dataclass
class Run:
    """One process of an end, in true time."""

    role: str
    name: str
    run: str
    start_ns: int
    stop_ns: int
    clean: bool
    skew_ns: int
    still: tuple[int, int] | None = None  # from when to when it stood still
    published: list[tuple[int, Record]] = field(default_factory=list)  # when, and what

    def clock(self, true_ns: int) -> int:
        return true_ns + self.skew_ns


@dataclass
class History:
    """The records in their order in the partition, with their append times; and the truth."""

    records: list[tuple[Record, int]]
    messages: list[Message]
    runs: dict[str, Run]
    knobs: Knobs
