"""Weighs the candidates of one sum: bounds that hold together, and what is said of each."""

from __future__ import annotations

from dataclasses import dataclass

from streaming.attribution.candidate import ORDER, Candidate


@dataclass(slots=True)
class Weighed:
    """A candidate with its final bounds."""

    candidate: Candidate
    lower: int
    upper: int
    said: int

    def say(self, left: int, most: int) -> int:
        """Say as much more as is left, up to `most` in all; returns how much that was."""
        more = max(0, min(left, most - self.said))
        self.said += more
        return more

    @property
    def exact(self) -> bool:
        return self.candidate.exact and self.lower == self.upper


def weigh(candidates: list[Candidate], missing: int) -> list[Weighed]:
    """Return those that explain something of what is missing, the first to blame first.

    What is proven is said of each; what is left goes to those counted for this path alone, then to who was
    absent, then to counters of all traffic.
    """
    found = [
        Weighed(one, min(one.lower, missing), missing if one.upper is None else min(one.upper, missing), 0)
        for one in candidates
    ]
    found = [one for one in found if one.upper > 0]
    proven = sum(one.lower for one in found)
    if proven > missing:  # they contradict each other, and so prove nothing
        proven = 0
        for one in found:
            one.lower = 0
    for one in found:
        one.upper = min(one.upper, missing - (proven - one.lower))
        one.said = one.lower
    left = missing - proven
    ranked = sorted(found, key=lambda one: (ORDER[one.candidate.how], -one.candidate.weight, -one.upper))
    for one in ranked:
        likely = one.candidate.likely
        left -= one.say(left, one.upper if likely is None else min(likely, one.upper))
    for one in ranked:
        left -= one.say(left, one.upper)
    return sorted(
        (one for one in found if one.upper > 0),
        key=lambda one: (-one.said, ORDER[one.candidate.how], -one.candidate.weight, -one.upper),
    )


def say_the_rest(weighed: list[Weighed], missing: int) -> None:
    """Say what other paths' shares left over of hops that were counted for this path alone."""
    left = missing - sum(one.said for one in weighed)
    for one in weighed:
        if one.candidate.how == "counted":
            left -= one.say(left, one.upper)


def joined(candidates: list[Candidate]) -> list[Candidate]:
    """Return one candidate for each hop and cause."""
    found: dict[tuple[str, str], Candidate] = {}
    for one in candidates:
        known = found.setdefault((one.hop, one.cause), one)
        if known is not one:
            known.join(one)
    return list(found.values())
