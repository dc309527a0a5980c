"""Response time by tier: client, each hop, broker, store; means that add up to the whole, or it is said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import numpy as np
from scipy import stats

Tier = Literal["client", "hop", "broker", "store"]

TOLERANCE: Final = 0.05  # of the whole: parts are measured by other means, or in other runs
MOST_PARTS: Final = 256
_CONFIDENCE: Final = 0.95
_FEWEST: Final = 2  # repetitions, for an interval


@dataclass(frozen=True, slots=True)
class Part:
    """The mean time that a message spends somewhere, and how that was found."""

    tier: Tier
    name: str
    mean_ns: float
    how: str
    within: str = ""  # the name of the part that holds it: its time is not counted there again
    low_ns: float | None = None  # the 95 % interval, where repetitions tell one
    high_ns: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: what a part has for itself, without what was measured inside it."""

    tier: Tier | None  # None: what no part explains
    name: str
    own_ns: float
    share: float  # of the whole
    how: str


@dataclass(frozen=True, slots=True)
class Tiers:
    """The table: the times of its rows add up to the whole."""

    whole_ns: float
    rows: tuple[Row, ...]
    unexplained_ns: float  # the last row's; below 0 the parts are more than the whole
    adds_up: bool  # the parts are no more than the whole and 5 %, and none is less than what is inside it
    says: str

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        return asdict(self)


def tier_of(kind: str, to: str) -> Tier:
    """Return the tier of a hop as rows of attribution name it (collectors/contract/attribution_rows.py)."""
    if kind == "queue":
        return "broker"
    return "client" if to == "sender" else "hop"


def before_sending(response_ns: float, service_ns: float) -> Part:
    """Return the part of a message that was due and not yet sent, by the two mean latencies of accounting."""
    return Part("client", "before it is sent", response_ns - service_ns, "response less service")


def waiting(tier: Tier, name: str, depths: Sequence[float], out_per_second: float) -> Part:
    """Return the part of what waits somewhere: mean number over the rate at which it leaves (Little).

    The numbers are of moments at equal distances while the load was steady. Raises ValueError.
    """
    if not depths or not all(0 <= depth < math.inf for depth in depths):
        raise ValueError(f"what waits at {name} is {list(depths)[:5]}: give numbers from 0, one at least")
    if not 0 <= out_per_second < math.inf:
        raise ValueError(f"the rate out of {name} is {out_per_second}/s: give one from 0")
    mean = float(np.mean(depths))
    if mean and not out_per_second:
        raise ValueError(f"{mean:,.4g} messages wait at {name}, and none leaves: their time has no bound")
    how = f"{mean:,.4g} waiting over {out_per_second:,.4g}/s out"
    return Part(tier, name, mean / out_per_second * 1e9 if mean else 0.0, how)


def difference(
    tier: Tier, name: str, with_ns: Sequence[float], without_ns: Sequence[float], *, how: str
) -> Part:
    """Return the part by which runs with something are slower than runs without it.

    Each number is the mean response time of a repetition. With two a side or more there is an interval
    (Welch's, for spreads that differ). Raises ValueError.
    """
    for side, means in (("with", with_ns), ("without", without_ns)):
        if not means or not all(0 <= mean < math.inf for mean in means):
            raise ValueError(
                f"runs {side} {name} have the means {list(means)[:5]}: give one of each repetition"
            )
    found = float(np.mean(with_ns) - np.mean(without_ns))
    if min(len(with_ns), len(without_ns)) < _FEWEST:
        return Part(tier, name, found, how)
    if not (np.ptp(with_ns) or np.ptp(without_ns)):
        return Part(tier, name, found, how, low_ns=found, high_ns=found)
    interval = stats.ttest_ind(with_ns, without_ns, equal_var=False).confidence_interval(_CONFIDENCE)
    return Part(tier, name, found, how, low_ns=float(interval.low), high_ns=float(interval.high))


def split(whole_ns: float, parts: Sequence[Part]) -> Tiers:
    """Return the table of a mean response time; its last row is what no part explains.

    Args:
        whole_ns: the mean response time: medians and percentiles do not add up.
        parts: the means of parts, in the order of the way; those inside another one name it.

    Raises:
        ValueError: for what is no time, two parts of one name, and a part within one that is not there.
    """
    _check(whole_ns, parts)
    own = {part.name: part.mean_ns for part in parts}
    for part in parts:
        if part.within:
            own[part.within] -= part.mean_ns
    rows = [
        Row(part.tier, part.name, own[part.name], own[part.name] / whole_ns, _how(part)) for part in parts
    ]
    rest = whole_ns - math.fsum(row.own_ns for row in rows)
    rows.append(Row(None, "not explained" if rest >= 0 else "counted twice", rest, rest / whole_ns, ""))
    less = [_less(row.name, row.own_ns, parts) for row in rows[:-1] if row.own_ns < 0]
    adds_up = not less and rest >= -TOLERANCE * whole_ns
    return Tiers(whole_ns, tuple(rows), rest, adds_up, "; ".join([*less, _rest(whole_ns, rest)]))


def _check(whole_ns: float, parts: Sequence[Part]) -> None:
    if not 0 < whole_ns < math.inf:
        raise ValueError(f"a mean response time of {whole_ns} ns has no parts: give one above 0")
    if len(parts) > MOST_PARTS:
        raise ValueError(f"{len(parts)} parts are more than the {MOST_PARTS} there may be: put some together")
    outer = {part.name: part.within for part in parts}
    if len(outer) < len(parts):
        names = [part.name for part in parts]
        double = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"two parts are named {double}: give each a name of its own")
    for part in parts:
        if not math.isfinite(part.mean_ns):
            raise ValueError(f"the part {part.name} takes {part.mean_ns} ns: give a number")
        if part.within and part.within not in outer:
            raise ValueError(
                f"the part {part.name} is within {part.within}, which is no part: name one, or none"
            )
        at = part.name
        for _ in parts:
            at = outer.get(at, "")
        if at:
            raise ValueError(f"the part {part.name} is within itself: name the part that holds it")


def _how(part: Part) -> str:
    if part.low_ns is None or part.high_ns is None:
        return part.how
    noise = ": within noise" if part.low_ns <= 0 <= part.high_ns else ""
    return f"{part.how}, from {_ms(part.low_ns)} to {_ms(part.high_ns)}{noise}"


def _less(name: str, own_ns: float, parts: Sequence[Part]) -> str:
    inner = [part.name for part in parts if part.within == name]
    if inner:
        within = " and ".join(inner)
        return f"{name} takes {_ms(-own_ns)} less than {within} within it: measure them in the same runs"
    return f"{name} comes out {_ms(-own_ns)} below 0: what was compared does not differ by it"


def _rest(whole_ns: float, rest: float) -> str:
    if rest >= 0:
        return f"{rest / whole_ns:.1%} of {_ms(whole_ns)} is not explained"
    more = f"the parts are {_ms(-rest)} ({-rest / whole_ns:.1%}) more than the whole of {_ms(whole_ns)}"
    if rest >= -TOLERANCE * whole_ns:
        return f"{more}, within {TOLERANCE:.0%}"
    return f"{more}: some time is in two of them, or they were measured under another load"


def _ms(time_ns: float) -> str:
    return f"{time_ns / 1e6:,.4g} ms"
