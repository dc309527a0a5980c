"""Jitter at a hand-off, held against messages whose way is known."""

from __future__ import annotations

import json
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.analysis.jitter import Peak, jitter_ns, largest, over_repetitions

MS = 1_000_000


def _held(period_ms: int, count: int, from_ms: int, to_ms: int) -> list[int]:
    """Return when messages came that take 1 ms, of which none came through between two times."""
    due = [number * period_ms for number in range(count)]
    return [((to_ms if from_ms <= sent < to_ms else sent) + 1) * MS for sent in due]


def test_jitter_is_what_comes_later_than_one_period_after_the_one_before() -> None:
    """By hand: due each 10 ms; the third was 4 ms late, the next ones came 3 and 7 ms after it."""
    arrived = [0, 10, 24, 27, 34, 44]
    found = jitter_ns(range(6), [ms * MS for ms in arrived], 10 * MS)
    assert [ns // MS for ns in found] == [0, 4, -7, -3, 0]


def test_the_largest_of_a_hand_off() -> None:
    """Held from 100 to 3,100 ms, period 10 ms: the first that was held came 3,000 ms late.

    With it 300 were held and came at once: 299 behind it, and the one that was due just then.
    """
    found = largest(range(1_000), _held(10, 1_000, 100, 3_100), 10 * MS)
    assert found == Peak(number=10, jitter_ns=3_000 * MS, missing=0, negative=300, caught_up=True)


@given(
    period=st.integers(2, 1_000),
    held=st.integers(1, 7_000),
    began=st.integers(1, 50),
)
def test_messages_behind_the_peak_are_about_peak_over_period(period: int, held: int, began: int) -> None:
    """Wherever the hold begins at a message that is due."""
    first = began * period
    count = began + held // period + 20
    found = largest(range(count), _held(period, count, first, first + held), period * MS)
    assert found.jitter_ns == held * MS
    assert found.number == began
    assert abs(found.negative - held / period) <= 1
    assert found.caught_up


@pytest.mark.parametrize(("held_ms", "behind"), [(33, 3), (37, 4)])
def test_a_message_that_is_late_by_less_than_half_a_period_has_caught_up(held_ms: int, behind: int) -> None:
    """By hand: delays of 33, 23, 13, 3 ms and of 37, 27, 17, 7, 0 ms, where the period is 10 ms."""
    assert largest(range(30), _held(10, 30, 100, 100 + held_ms), 10 * MS).negative == behind


def test_order_of_arrival_is_that_of_numbers() -> None:
    """Rows may be given in any order."""
    arrived = _held(10, 50, 100, 300)
    turned = list(reversed(range(50)))
    assert largest(turned, [arrived[number] for number in turned], 10 * MS) == largest(
        range(50), arrived, 10 * MS
    )


def test_messages_that_were_lost_are_told_beside_the_time_without_any() -> None:
    """Cut from 100 to 3,100 ms and connected anew: 300 never came, the next was in time, so none is early."""
    came = [*range(10), *range(310, 400)]
    found = largest(came, [number * 10 * MS for number in came], 10 * MS)
    assert found == Peak(number=310, jitter_ns=3_000 * MS, missing=300, negative=0, caught_up=True)


def test_a_repetition_that_ends_in_the_hand_off_is_told() -> None:
    """What it would have counted is not known."""
    found = largest(range(20), [*(number * 10 * MS for number in range(19)), 5_000 * MS], 10 * MS)
    assert (found.number, found.negative, found.caught_up) == (19, 0, False)


def test_noise_long_after_the_hand_off_is_not_counted() -> None:
    """Half of all messages are a little early at any time."""
    arrived = _held(10, 200, 100, 200)
    noisy = [at + (number % 2) * 1_000 for number, at in enumerate(arrived)]
    assert largest(range(200), noisy, 10 * MS).negative == pytest.approx(10, abs=1)


def test_the_distribution_over_repetitions() -> None:
    """Mean and deviation as the standard library has them; percentiles are sizes that were measured."""
    sizes = [1_363, 3_367, 512, 900, 1_200, 7_361, 1_850, 2_000, 1_100, 1_500]
    peaks = [Peak(1, size * MS, 0, size // 100, caught_up=size < 7_000) for size in sizes]
    found = over_repetitions(peaks, 100 * MS)
    assert found.repetitions == 10
    assert found.mean_ns == pytest.approx(statistics.mean(sizes) * MS)
    assert found.sd_ns == pytest.approx(statistics.stdev(sizes) * MS)
    assert found.max_ns == 7_361 * MS
    ranked = sorted(sizes)
    assert found.percentiles_ns == {
        50: ranked[4] * MS,
        90: ranked[8] * MS,
        95: ranked[9] * MS,
        99: ranked[9] * MS,
    }
    assert found.negative_mean == pytest.approx(statistics.mean(size // 100 for size in sizes))
    assert found.negative_expected == pytest.approx(statistics.mean(sizes) / 100)
    assert found.not_caught_up == 1
    assert json.loads(json.dumps(found.as_json()))["max_ns"] == 7_361 * MS


def test_what_is_missing_is_not_expected_behind_the_peak() -> None:
    """Of 3,000 ms at 10 ms a message, 200 never came: a hundred are left to come at once."""
    assert over_repetitions([Peak(1, 3_000 * MS, 200, 100, caught_up=True)], 10 * MS).negative_expected == 100


def test_one_repetition_has_no_deviation() -> None:
    """And divides by nothing."""
    assert over_repetitions([Peak(1, MS, 0, 0, caught_up=True)], MS).sd_ns is None


@pytest.mark.parametrize(
    ("numbers", "arrived", "period", "says"),
    [
        ([1, 2], [5], 1, "2 numbers and 1 arrivals"),
        ([1], [5], 1, "1 messages have no jitter"),
        ([1, 2], [5, 6], 0, "the period is 0 ns"),
        ([1, 7, 7], [5, 6, 8], 1, "message 7 arrived twice"),
    ],
)
def test_what_has_no_jitter_is_refused(
    numbers: list[int], arrived: list[int], period: int, says: str
) -> None:
    """With what to give."""
    with pytest.raises(ValueError, match=says):
        largest(numbers, arrived, period)


def test_no_repetitions_are_refused() -> None:
    """And so is a period of nothing."""
    for peaks, period in (([], 1), ([Peak(1, 1, 0, 0, caught_up=True)], 0)):
        with pytest.raises(ValueError, match="give one or more"):
            over_repetitions(peaks, period)
