from __future__ import annotations

from dataclasses import dataclass

from deploy.standin.engine import credit
from deploy.standin.routing import selection


@dataclass
class Way:
    name: str
    spare_credit: int = 0
    open_deliveries: int = 0
    assigned: int = 0


def test_closest_leaves_only_the_cheapest() -> None:
    """A consumer here is closer than one two hops away; two at the same cost both stay."""
    places = [("here", 0), ("far", 2), ("near", 0)]
    assert selection.candidates(places, "closest") == [("here", 0), ("near", 0)]
    assert selection.candidates(places, "balanced") == places


def test_somebody_with_credit_comes_before_anybody_without() -> None:
    """Even if it is farther and busier."""
    idle, ready = Way("idle"), Way("ready", spare_credit=1, open_deliveries=9)
    assert selection.best([(idle, 0), (ready, 3)]) is ready


def test_the_least_burdened_is_picked_with_cost_as_burden() -> None:
    """Two open deliveries here weigh more than the one hop to an idle consumer."""
    here, there = Way("here", spare_credit=5, open_deliveries=2), Way("there", spare_credit=5)
    assert selection.best([(here, 0), (there, 1)]) is there


def test_equals_take_turns() -> None:
    """Of two idle ones the one that has assigned less is next."""
    one, other = Way("one", spare_credit=5, assigned=3), Way("other", spare_credit=5, assigned=2)
    assert selection.best([(one, 0), (other, 0)]) is other


def test_nobody_is_nobody() -> None:
    """No way at all is told as None."""
    assert selection.best([]) is None


def test_unsettled_credit_is_what_the_consumers_have_left() -> None:
    """End to end: 7 at the consumers are 7 for the sender, and never more than 250 open."""
    common = {"presettled": False, "reachable": True, "held": 0}
    assert credit.target(available=7, unsettled=0, **common) == 7
    assert credit.target(available=0, unsettled=0, **common) == 0
    assert credit.target(available=1000, unsettled=240, **common) == 10
    assert credit.target(available=1000, unsettled=300, **common) == 0


def test_presettled_credit_does_not_wait_for_the_consumers() -> None:
    """As in real routers, which drop and count what comes too fast; with nobody there, there is none."""
    assert credit.target(available=0, unsettled=0, presettled=True, reachable=True, held=0) == 250
    assert credit.target(available=9, unsettled=0, presettled=True, reachable=False, held=0) == 0
    assert credit.target(available=9, unsettled=0, presettled=True, reachable=True, held=10_000) == 0


def test_credit_is_topped_up_in_heaps_but_never_starves() -> None:
    """Above half nothing is added; at zero even one credit is passed on."""
    assert [credit.top_up(c, w) for c, w in [(250, 250), (126, 250), (125, 250), (0, 1), (1, 1), (5, 0)]] == [
        0,
        0,
        125,
        1,
        0,
        0,
    ]
