"""THE table: which counter of whom tells of which cause, at which hop; facts about routers and brokers.

Seen on qdrouterd 1.19 and skrouterd 3.5, whose counters agree in this, and on Artemis and Classic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from collectors.contract.attribution_rows import Cause
from streaming.attribution import broker_history
from streaming.attribution.broker_history import EXPIRED, KILLED
from streaming.attribution.router_history import PLACE_OF

Missing = Literal["lost", "refused"]


@dataclass(frozen=True, slots=True)
class OfLink:
    """What a counter of a link tells: on the way out of the hop behind it, on the way in of the router."""

    counter: int
    cause: Cause
    of: Missing


# A presettled message for which there is no credit on the way out is dropped there, in lumps of as many as
# wait. Links to end points are of one address, so of its paths alone; links between routers carry everything:
# their counters are upper bounds.
OUT: Final = (
    OfLink(PLACE_OF["dropped_presettled"], "dropped", "lost"),
    OfLink(PLACE_OF["rejected"], "rejected", "refused"),
    OfLink(PLACE_OF["released"], "released", "refused"),
    OfLink(PLACE_OF["modified"], "modified", "refused"),
)
# One that came in and has no way on. Released and modified on the way in are made here, or come from further
# down: those that are on a way out as well.
IN: Final = (
    OfLink(PLACE_OF["dropped_presettled"], "no_route", "lost"),
    OfLink(PLACE_OF["rejected"], "rejected", "refused"),
    OfLink(PLACE_OF["released"], "released", "refused"),
    OfLink(PLACE_OF["modified"], "modified", "refused"),
)


@dataclass(frozen=True, slots=True)
class OfQueue:
    """What a counter of a queue, or of a broker's address, tells."""

    counter: int
    cause: Cause
    says: str


QUEUE: Final = (OfQueue(EXPIRED, "expired", "expired"), OfQueue(KILLED, "killed", "dead-lettered"))
UNROUTED: Final = OfQueue(broker_history.UNROUTED, "unrouted", "unrouted")  # of an address

# Artemis looks for expired messages every 30 s, unless configured, where nobody takes them.
EXPIRY_SCAN_NS: Final = 30_000_000_000

# What a counter is called in the evidence, where not as its cause.
COUNTED_AS: Final[dict[str, str]] = {"no_route": "unroutable"}

# What people read in a sentence: "211 dropped at C → receiver".
SAYS: Final[dict[Cause, str]] = {
    "dropped": "dropped for want of credit",
    "no_route": "without a way on",
    "released": "given back as released",
    "modified": "given back as modified",
    "rejected": "rejected",
    "expired": "expired",
    "killed": "dead-lettered",
    "unrouted": "without a queue",
    "gone": "gone with it",
    "waiting": "waiting",
    "slow": "slow",
}
