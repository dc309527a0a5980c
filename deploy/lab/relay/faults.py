"""What the faults of a link are to bytes that go one way over it. Pure."""

from __future__ import annotations

from typing import Final

from deploy.lab.faults import Faults, in_direction
from deploy.lab.relay.pace import Pace
from deploy.topology.action_kinds import LinkFault

KINDS: Final[tuple[LinkFault, ...]] = ("delay", "limit", "stall", "cut", "move")
BEGIN_RESETS: Final = frozenset({"cut", "move"})  # the connections that there are
END_RESETS: Final = frozenset({"move"})
_MS_NS: Final = 1_000_000


def pace(faults: Faults, direction: str) -> Pace:
    here = in_direction(faults, direction)
    delay, limit = here.get("delay", {}), here.get("limit", {})
    return Pace(
        delay_ns=int(delay.get("ms", 0) * _MS_NS),
        jitter_ns=int(delay.get("jitter_ms", 0) * _MS_NS),
        bytes_per_second=limit.get("bytes_per_second"),
        stalled="stall" in here,
    )
