"""Being a good guest: the guard and the rate cap."""

from __future__ import annotations

from collectors.probe.measure.guard import SILENT_NS, Guard, RateCap

SECOND = 1_000_000_000


def test_silent_receivers_stop_the_sender() -> None:
    """30 s after the last receiver was heard of nothing is sent; when one is back, sending goes on."""
    guard = Guard(1_000)
    guard.report("r", 0, -1)
    assert guard.problem(1, SILENT_NS) is None
    assert "no receiver" in (guard.problem(1, SILENT_NS + 1) or "")
    guard.report("r", SILENT_NS + 2, 0)
    assert guard.problem(1, SILENT_NS + 3) is None


def test_nobody_can_be_heard_of_while_this_process_stands_still() -> None:
    """That time does not count."""
    guard = Guard(1_000)
    guard.report("r", 0, -1)
    guard.stood_still(60 * SECOND)
    assert guard.problem(1, 60 * SECOND + SILENT_NS) is None
    assert guard.problem(1, 60 * SECOND + SILENT_NS + 1) is not None


def test_nobody_was_ever_heard_of() -> None:
    """Where receivers cannot make themselves heard, the queue is bounded by rate × TTL instead."""
    assert Guard(1).problem(10**6, 10**15) is None


def test_one_receiver_of_several_is_enough() -> None:
    """Competing receivers take from one queue; those of a multicast through a broker have one each."""
    one, each = Guard(1_000), Guard(1_000, all_receivers=True)
    for guard in (one, each):
        guard.report("a", 0, 5)
        guard.report("b", 40 * SECOND, 9)
    assert one.problem(10, 41 * SECOND) is None
    assert each.problem(10, 41 * SECOND) is not None


def test_deep_queue_stops_the_sender() -> None:
    """More messages between sender and receiver than the bound: nothing is added to them."""
    guard = Guard(100)
    guard.report("r", 0, 9)
    assert guard.problem(110, SECOND) is None
    assert "101 messages" in (guard.problem(111, SECOND) or "")


def test_an_old_report_does_not_deepen_the_queue() -> None:
    """Reports may overtake each other: the highest number counts."""
    guard = Guard(100)
    guard.report("r", 0, 500)
    guard.report("r", 1, 10)
    assert guard.problem(550, SECOND) is None


def test_rate_cap() -> None:
    """At most a tenth of a second's messages at once, and the rate in the long run."""
    cap = RateCap(1_000)
    assert cap.room(0) == 100
    cap.take(100)
    assert cap.room(0) == 0
    assert cap.room(SECOND // 100) == 10
    sent = 0
    for millisecond in range(10, 10_010):
        room = cap.room(millisecond * SECOND // 1_000)
        cap.take(room)
        sent += room
    assert 9_990 <= sent <= 10_110


def test_rate_cap_after_a_step_of_the_clock() -> None:
    """The runs that follow a step back send on at once: they do not wait for the time to come again."""
    cap = RateCap(1_000)
    cap.take(cap.room(3_600 * SECOND))
    assert cap.room(0) == 0
    assert cap.room(SECOND // 100) == 10
    assert cap.room(3_600 * SECOND) == 100


def test_no_cap() -> None:
    """0 is no cap."""
    assert RateCap(0).room(0) > 10**6
