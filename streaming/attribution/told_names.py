"""Names that no contract checks, as of next hops and queues: they become texts of rows that one does."""

from __future__ import annotations

from typing import Any, Final, TypeGuard

from collectors.contract.attribution_rows import AttributionRow
from collectors.contract.untrusted_text import shown

_LONGEST: Final = 192  # characters, as of a `Name` of the contract
_SENTENCE: Final = 1_024


def is_name(value: Any) -> TypeGuard[str]:
    """Return whether it can name a hop."""
    return isinstance(value, str) and 0 < len(value) <= _LONGEST and value.isprintable()


def make_printable(row: AttributionRow) -> None:
    """Replace what cannot be printed, as addresses and queues may hold it, and cut what is too long."""
    for hop in row["hops"]:
        hop["hop"] = shown(hop["hop"])[:_LONGEST]
        hop["at"] = shown(hop["at"])[:_LONGEST]
        hop["to"] = shown(hop["to"])[:_LONGEST]
        hop["evidence"] = [shown(text) for text in hop["evidence"]]
    for stop in row["route"]:
        stop["hop"] = shown(stop["hop"])[:_LONGEST]
    row["sentence"] = shown(row["sentence"])[:_SENTENCE]
