"""A hop that may be to blame, before it is weighed against the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from collectors.contract.attribution_rows import Cause, Sum

HopKind = Literal["router", "link", "end", "queue"]
# How a hop is known, best first: counted for this path alone; by its absence; by a counter of all traffic; by
# an absence that may have another reason.
How = Literal["counted", "absent", "shared", "suspected"]
ORDER: Final[dict[How, int]] = {how: place for place, how in enumerate(get_args(How))}


@dataclass(slots=True)
class Candidate:
    """`upper` None: nothing bounds it but what is missing. `likely` is what the other counters leave it."""

    kind: HopKind
    at: str
    to: str
    of: Sum
    cause: Cause
    lower: int
    upper: int | None
    how: How
    likely: int | None = None
    exact: bool = False
    shared: bool = False
    weight: int = 0  # of several that are known alike, the larger goes first
    evidence: list[str] = field(default_factory=list)

    def join(self, other: Candidate) -> None:
        """Take in another one of the same hop and cause, as of another link there."""
        likely = [one.upper if one.likely is None else one.likely for one in (self, other)]
        self.lower += other.lower
        self.upper = None if self.upper is None or other.upper is None else self.upper + other.upper
        self.likely = None if None in likely else sum(one or 0 for one in likely)
        self.how = min(self.how, other.how, key=lambda how: ORDER[how])
        self.exact, self.shared = self.exact and other.exact, self.shared or other.shared
        self.weight = max(self.weight, other.weight)
        self.evidence += [text for text in other.evidence if text not in self.evidence]

    @property
    def hop(self) -> str:
        return hop_text(self.kind, self.at, self.to)


def hop_text(kind: HopKind, at: str, to: str) -> str:
    """Return a hop as people read it."""
    if kind == "router":
        return at
    if kind == "queue":
        return f"{at}: {to}"
    return f"{at} → {to}"
