"""How long a receiver counts as not watching after its process stood still."""

from __future__ import annotations

from collectors.contract.records import Span
from collectors.probe.measure.standstill import Standstill

SECOND = 1_000_000_000
BORN = 1_000 * SECOND
STILL = BORN + 10 * SECOND, BORN + 30 * SECOND


def at(seconds: float) -> int:
    return BORN + round(seconds * SECOND)


def stood_still() -> Standstill:
    watch = Standstill(BORN)
    assert watch.take(at(9), is_read=True) == ()
    watch.stood_still(*STILL)
    return watch


def test_until_a_second_after_it_went_on() -> None:
    """Publications tell it piece by piece; the peer needs that second to get credit again."""
    watch = stood_still()
    assert watch.take(at(30.4), is_read=True) == (Span(at(10), at(30.4)),)
    assert watch.unwatched_ns == at(30.4)
    assert watch.take(at(31.4), is_read=True) == (Span(at(30.4), at(31.4)),)
    assert watch.unwatched_ns is None
    assert watch.take(at(32.4), is_read=True) == ()


def test_until_all_that_waited_is_read() -> None:
    """However long that takes."""
    watch = stood_still()
    assert watch.take(at(40), is_read=False) == (Span(at(10), at(40)),)
    assert watch.take(at(41), is_read=True) == (Span(at(40), at(41)),)
    assert watch.take(at(42), is_read=True) == ()


def test_until_a_link_that_it_lost_by_it_is_back() -> None:
    """Its peer lost patience: what comes until then is missed for want of a receiver."""
    watch = stood_still()
    watch.link_ends()
    assert watch.take(at(35), is_read=True) == (Span(at(10), at(35)),)
    watch.link_begins(at(36))
    assert watch.take(at(36.5), is_read=True) == (Span(at(35), at(36.5)),)
    assert watch.take(at(37), is_read=True) == (Span(at(36.5), at(37)),)
    assert watch.take(at(38), is_read=True) == ()


def test_a_link_that_was_down_anyway_does_not_lengthen_it() -> None:
    """A dead router is observed to be dead: what it loses is lost."""
    watch = Standstill(BORN)
    watch.link_ends()
    watch.stood_still(*STILL)
    assert watch.take(at(31), is_read=True) == (Span(at(10), at(31)),)
    assert watch.take(at(32), is_read=True) == ()


def test_twice_is_one_stretch() -> None:
    """A second time before the first is over."""
    watch = stood_still()
    watch.stood_still(at(30.5), at(35))
    assert watch.take(at(35.5), is_read=True) == (Span(at(10), at(35.5)),)
    assert watch.take(at(36), is_read=True) == (Span(at(35.5), at(36)),)
    assert watch.take(at(37), is_read=True) == ()


def test_not_before_it_began() -> None:
    """The loop is older than a run that begins after a step of the clock."""
    watch = Standstill(BORN)
    watch.stood_still(at(-3), at(2))
    assert watch.take(at(3), is_read=True) == (Span(at(0), at(3)),)
