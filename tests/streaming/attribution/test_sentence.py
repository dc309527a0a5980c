"""What people read first: the sum, when, the hops, and no more than was seen."""

from __future__ import annotations

import pytest
from attribution_rows import episode, hop, slow

from streaming.attribution.episodes import Episode
from streaming.attribution.sentence import sentence
from streaming.attribution.waiting import slow_hops

MS = 1_000_000
WAITING = "orders-a: inflight.orders"


def test_tells_the_sum_the_time_and_the_hop() -> None:
    """All of them, a bound, or what no hop explains; times are UTC, wherever the reader is."""
    all_ = episode(hops=[hop(said=211)], unexplained_lost=0)
    assert sentence(all_) == (
        "211 of 500 lost 22:13:20-25 UTC: all 211 dropped for want of credit at C → receiver"
    )
    bound = episode(hops=[hop("B", 211, cause="gone", lower=0)])
    assert sentence(bound) == "214 of 500 lost 22:13:20-25 UTC: up to 211 gone with B, 3 unexplained"
    going_on = episode(hops=[], open=True)
    assert sentence(going_on) == "3 of 500 lost since 22:13:20 UTC: where is not known"


def test_tells_two_sums_apart() -> None:
    """The same hop may be to blame for both."""
    gone = [
        hop("B", 80, cause="gone", of="lost", lower=0),
        hop("B", 193, cause="gone", of="refused", lower=0),
    ]
    assert sentence(episode(hops=gone, unexplained_lost=0)) == (
        "80 of 500 lost and 193 refused 22:13:20-25 UTC:"
        " of the lost up to 80 gone with B; of the refused up to 193 gone with B"
    )


def test_tells_where_messages_were_late_that_came_after_all() -> None:
    """With what may have waited there at the most, where nothing is said to have."""
    waited = [
        hop(WAITING, 59, cause="waiting", of="late", lower=0, upper=59),
        hop("A → B", 0, cause="waiting", of="late", lower=0, upper=9),
        hop("B → C", 0, cause="waiting", of="late", lower=0, upper=0),
    ]
    row = episode(lost=0, unexplained_lost=0, hops=waited)
    assert sentence(row) == (
        "nothing is missing 22:13:20-25 UTC, but late:"
        f" up to 59 waiting in {WAITING}, up to 9 waiting at A → B"
    )


@pytest.mark.parametrize(
    ("delay_ms", "told"),
    [(37, "37 ms waiting in"), (30, "30 ms of it waiting in"), (4, "4 ms of it waiting in")],
)
def test_says_how_much_of_a_delay_is_at_the_hop(delay_ms: int, told: str) -> None:
    """From 3 to 40 ms are 37 more; what is less is a part of it."""
    row = slow(
        hops=[hop(WAITING, 0, of="late", cause="waiting", delay_ns=delay_ms * MS, evidence=["9 messages"])]
    )
    assert sentence(row) == f"p95 3 ms → 40 ms since 22:13:20 UTC: {told} {WAITING} (9 messages)"


def test_names_no_hop_for_a_sliver_of_a_delay() -> None:
    """A few messages always wait; what no time could be told of is named, as it may be all of it."""
    waits = {
        "link\0A\0B": ("1 waiting, 349/s out", 3 * MS),
        "link\0B\0C": ("9 waiting, 90/s out", 100 * MS),
        "end\0C\0receiver": ("2 waiting, 0/s out", 0),
    }
    episode_ = Episode("slow", 0, [0], delays=waits)
    assert [(found["hop"], found["delay_ns"] // MS) for found in slow_hops(episode_, 170 * MS)] == [
        ("B → C", 100),
        ("C → receiver", 170),
    ]
