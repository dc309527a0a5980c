"""Which process sends and receives which flows. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

# What a process sends and receives, with room left: through qdrouterd, two of them had 30,000 together.
PER_PROCESS: Final = 10_000.0  # messages a second


@dataclass
class Share:
    """The flows whose senders and receivers a process runs, and what that comes to a second."""

    send: list[str] = field(default_factory=list)
    receive: list[str] = field(default_factory=list)
    rate: float = 0.0


def wanted(rates: Mapping[str, float], cores: int) -> int:
    """Return how many processes these rates need; never more than cores, or than there are ends."""
    return max(1, min(math.ceil(sum(rates.values()) / PER_PROCESS), cores, 2 * len(rates)))


def shared(rates: Mapping[str, float], processes: int) -> list[Share]:
    """Return the shares of so many processes.

    A flow's ends stay together while there are flows enough; else senders and receivers are of different
    processes. The most demanding go first, each to who has least to do.
    """
    apart = processes > len(rates)
    shares = [Share() for _ in range(max(1, min(processes, (2 if apart else 1) * len(rates))))]
    for flow in sorted(rates, key=lambda name: (-rates[name], name)):
        for ends in (("send",), ("receive",)) if apart else (("send", "receive"),):
            share = min(shares, key=lambda one: one.rate)
            for end in ends:
                getattr(share, end).append(flow)
            share.rate += rates[flow] * len(ends) / 2
    return shares
