"""Which network a history plays in: drawn from the seed, so that the fault can happen in it."""

# ruff: noqa: S311 -- chance here is to be repeatable, not secret

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random

from .parts import MS, SECOND

BROKER = "orders-a"
TTL_NS = 60 * SECOND
MARKING_NS = 30 * SECOND


@dataclass(frozen=True, slots=True)
class Needs:
    """What a fault needs of the network; None: any."""

    presettled: bool | None = None
    via: tuple[str, ...] = ("",)  # "", "auto" by auto-links of a router, "direct"
    shape: str | None = None
    routers: int = 2  # at least


@dataclass(frozen=True, slots=True)
class PathPlan:
    name: str
    address: str
    sender: str  # a router, or the broker
    receivers: tuple[str, ...]
    presettled: bool
    via: str
    interval_ns: int
    marking_ns: int = 0

    @property
    def settle_ns(self) -> int:
        return TTL_NS if self.via else 10 * SECOND


@dataclass(frozen=True, slots=True)
class Plan:
    """A network, its paths, and who watches them how well."""

    seed: int
    fault: str
    further: tuple[str, ...]  # faults later on
    flavour: str
    shape: str
    routers: tuple[str, ...]
    ways: tuple[tuple[str, str, int], ...]
    paths: tuple[PathPlan, ...]
    bound_at: str  # the router with the auto-links
    seconds: int
    poll_ns: int
    lost_polls: float
    unrecorded: float
    collector_restarts: bool
    disturbed: bool
    other_rate: int  # messages a second of other traffic on each way
    other_drops: bool
    clocks_ns: tuple[int, int, int]  # of collectors, senders, receivers, ahead of true time


def draw(seed: int, fault: str, needs: Needs, *, further: tuple[str, ...] = (), disturbed: bool) -> Plan:
    """Draw a network; `disturbed`: polls are lost, collectors restart, other traffic is dropped."""
    rng = Random(f"{seed} {fault}")
    shape = needs.shape or rng.choice(("line", "line", "ring", "star"))
    via = rng.choice(needs.via)
    size = rng.randint(max(needs.routers, 3 if shape == "star" else 2), 6)
    if shape == "ring":
        size = max(4, size)
    names = tuple("ABCDEF"[:size])
    ways, last = _ways(shape, names)
    flavour = "dispatch" if via == "auto" else rng.choice(("dispatch", "skupper"))
    presettled = rng.random() < 0.5 if needs.presettled is None else needs.presettled
    rates = (20, 30, 40) if not via else (10, 20)
    receivers = (last,)
    if not via and fault in {"none", "no_credit", "stalled_link"} and rng.random() < 0.3:
        receivers = (last, rng.choice([name for name in names[1:] if name != last] or [last]))
    first = PathPlan(
        "east-west",
        "inflight.orders" if via else "inflight/east-west",
        BROKER if via == "direct" else "A",
        (BROKER,) if via == "direct" else receivers,
        presettled,
        via,
        SECOND // rng.choice(rates),
    )
    paths = [first]
    if rng.random() < 0.6:
        paths.append(
            PathPlan(
                "second", "inflight/second", "A", (last,), not presettled, "", SECOND // rng.choice(rates)
            )
        )
    off_ns = rng.choice((20, 400)) * MS if disturbed else 20 * MS  # any two differ by less than a second
    if not via and Random(f"{seed} marked").random() < 0.4:  # of its own, so that the rest stays as it is
        paths[0] = replace(first, marking_ns=MARKING_NS)
    return Plan(
        seed=seed,
        fault=fault,
        further=further,
        flavour=flavour,
        shape=shape,
        routers=names,
        ways=ways,
        paths=tuple(paths),
        bound_at=rng.choice(names),
        seconds=300,
        poll_ns=rng.choice((5, 5, 2)) * SECOND,
        lost_polls=rng.choice((0.0, 0.03, 0.1)) if disturbed else 0.0,
        unrecorded=rng.choice((0.0, 0.005, 0.02)) if disturbed else 0.0,
        collector_restarts=disturbed and rng.random() < 0.3,
        disturbed=disturbed,
        other_rate=rng.choice((0, 0, 20, 100)),
        other_drops=disturbed and rng.random() < 0.5,
        clocks_ns=tuple(rng.randrange(-off_ns, off_ns) for _ in range(3)),  # type: ignore[arg-type] # three
    )


def _ways(shape: str, names: tuple[str, ...]) -> tuple[tuple[tuple[str, str, int], ...], str]:
    """Return the ways with their costs, and the router furthest from A."""
    if shape == "line":
        return tuple((one, other, 1) for one, other in pairwise(names)), names[-1]
    if shape == "star":
        return tuple((one, "B", 1) for one in names if one != "B"), names[-1]
    # A ring: A to C by B is cheap, the way round by the others is dear.
    around = (*names[2:], "A")
    dear = tuple((one, other, 5) for one, other in pairwise(around))
    return (("A", "B", 1), ("B", "C", 1), *dear), "C"
