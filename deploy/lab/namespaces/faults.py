"""What becomes of the packets from one end of a link to the other, by its faults. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from deploy.lab.faults import Faults, in_direction
from deploy.topology.action_kinds import LinkFault

KINDS: Final[tuple[LinkFault, ...]] = ("delay", "limit", "stall", "cut", "loss", "reorder")
_MS: Final = 1_000_000
_REORDER_NS: Final = 10 * _MS  # what the packets that are overtaken wait for, on a link without delay


@dataclass(frozen=True)
class Wait:
    """How long packets wait; the given share of them does not, and so overtakes the others."""

    delay_ns: int = 0
    jitter_ns: int = 0
    overtaking_percent: float = 0.0


@dataclass(frozen=True)
class Traffic:
    """What becomes of the packets of one direction; as it stands here, nothing."""

    cut: bool = False
    stall: bool = False
    loss_percent: float = 0.0
    bytes_per_second: float | None = None
    wait: Wait = Wait()


def traffic(faults: Faults, direction: str) -> Traffic:
    """Return what becomes of what goes in one direction over a link with these faults."""
    on = in_direction(faults, direction)
    delay, overtaking = on.get("delay", {}), on.get("reorder", {}).get("percent", 0)
    delay_ns = round(delay.get("ms", 0) * _MS)
    return Traffic(
        cut="cut" in on,
        stall="stall" in on,
        loss_percent=on.get("loss", {}).get("percent", 0),
        bytes_per_second=on.get("limit", {}).get("bytes_per_second"),
        wait=Wait(
            delay_ns=delay_ns or (_REORDER_NS if overtaking else 0),
            jitter_ns=round(delay.get("jitter_ms", 0) * _MS),
            overtaking_percent=overtaking,
        ),
    )
