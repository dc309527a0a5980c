"""The search for a capacity: against networks whose capacity is known, exact ones and noisy ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from analysis.carrying import System, blurred, exact, play, queue
from hypothesis import given
from hypothesis import strategies as st

from streaming.analysis.search import Limits, Search, Trial

RATES = st.floats(10, 1e6)


def _scripted(outcomes: dict[float, str]) -> System:
    """Return a network whose trials of a rate pass, fail or meet the ceiling in turn: "+", "-" or "c"."""
    turns = {rate: iter(said) for rate, said in outcomes.items()}

    def trial(rate: float) -> Trial:
        said = next(turns[rate])
        return Trial(rate, rate if said == "+" else 0, [0.0] * 10, 0.0, 1, at_ceiling=said == "c")

    return trial


@given(low=RATES, doublings=st.floats(-9, 19), resolution=st.floats(0.01, 1))
def test_the_capacity_lies_in_the_interval(low: float, doublings: float, resolution: float) -> None:
    """Wherever the search began; the interval is as narrow as asked, both ends were confirmed."""
    capacity = low * 2**doublings
    found, tried = play(Search(low, resolution=resolution), exact(capacity))
    assert found.ended
    assert found.low_per_second is not None
    assert found.high_per_second is not None
    assert found.low_per_second <= capacity < found.high_per_second
    assert found.high_per_second / found.low_per_second <= 1 + resolution
    assert tried.count(found.low_per_second) == 3
    assert tried.count(found.high_per_second) == 2
    # Doublings or halvings, halves of a factor of two in ratio, and three more to confirm.
    far = abs(doublings) + 2
    assert len(tried) <= far + math.log2(1 / math.log2(1 + resolution)) + 2 + 3


@given(low=RATES, times=st.floats(1.2, 1_000), place=st.floats(0.01, 0.99))
def test_with_both_ends_given_it_stays_within_them(low: float, times: float, place: float) -> None:
    """And tries no other rate."""
    high = low * times
    found, tried = play(Search(low, high), exact(low * times**place))
    assert all(low <= rate <= high for rate in tried)
    assert found.low_per_second is not None
    assert found.high_per_second is not None
    assert found.low_per_second <= low * times**place < found.high_per_second


def test_a_search_by_hand() -> None:
    """Doubled until 800 fails, then halved in ratio: √(400 × 800) = 565.7, rounded to four digits."""
    found, tried = play(Search(200, resolution=0.2), exact(600))
    assert tried == [200, 400, 800, 565.7, 672.7, 565.7, 565.7, 672.7]
    assert (found.low_per_second, found.high_per_second, found.trials) == (565.7, 672.7, 8)
    assert found.says == "between 565.7/s, which passed 3 of 3, and 672.7/s, which failed 2 of 3"


def test_a_capacity_below_the_first_rate_is_found_by_halving() -> None:
    """The one who asks need not know anything."""
    found, tried = play(Search(1_000), exact(70))
    assert tried[:5] == [1_000, 500, 250, 125, 62.5]
    assert found.low_per_second is not None
    assert found.low_per_second <= 70


def test_a_network_that_carries_nothing() -> None:
    """It ends, and says so."""
    found, tried = play(Search(1_024), exact(0))
    assert min(tried) == 1
    assert found.ended
    assert found.says == "below 1/s, which failed 2 of 3; no rate passed 3 of 3"


@pytest.mark.parametrize(("high", "most"), [(None, 10 * 2**20), (80, 80)])
def test_a_network_that_carries_all_that_may_be_asked(high: float | None, most: float) -> None:
    """The highest rate is confirmed."""
    found, _ = play(Search(10, high), exact(math.inf))
    assert (found.low_per_second, found.high_per_second, found.ended) == (
        pytest.approx(most, rel=1e-3),
        None,
        True,
    )
    assert found.says.endswith("no rate failed 2 of 3")


def test_trials_of_the_upper_end_that_disagree_widen_the_interval() -> None:
    """At 141.4 one of three failed: it is neither end, and both gaps beside it are searched."""
    outcomes = {100: "+++", 200: "--", 141.4: "-++", 118.9: "+++", 168.2: "--"}
    found, tried = play(Search(100, 200, resolution=0.2), _scripted(outcomes))
    assert (found.low_per_second, found.high_per_second) == (118.9, 168.2)
    assert tried.count(141.4) == 3
    assert found.disagreed == (141.4,)
    assert "trials disagreed at 141.4/s" in found.says


def test_trials_of_the_lower_end_that_disagree_widen_the_interval() -> None:
    """At 141.4 the last of three failed: the interval begins below it."""
    outcomes = {100: "+++", 200: "--", 141.4: "++-", 168.2: "--", 118.9: "+++"}
    found, _ = play(Search(100, 200, resolution=0.2), _scripted(outcomes))
    assert (found.low_per_second, found.high_per_second, found.disagreed) == (118.9, 168.2, (141.4,))


def test_the_generators_ceiling_is_no_failure() -> None:
    """The network carries 5,000/s, the generator 900/s: at least that much is known, and why no more."""
    found, _ = play(Search(100), exact(5_000, ceiling=900))
    assert found.high_per_second is None
    assert found.low_per_second is not None
    assert found.ceiling_per_second is not None
    assert found.low_per_second <= 900 < found.ceiling_per_second <= found.low_per_second * 1.05
    assert "the generator's own ceiling is at" in found.says


def test_a_ceiling_above_the_capacity_is_not_told() -> None:
    """It hid nothing."""
    found, _ = play(Search(100), exact(700, ceiling=750))
    assert found.high_per_second is not None
    assert found.low_per_second is not None
    assert found.low_per_second <= 700 < found.high_per_second
    assert found.ceiling_per_second is None


def test_a_generator_that_reaches_nothing() -> None:
    """Nothing is known of the network, and nothing is said of it."""
    found, _ = play(Search(64), exact(50, ceiling=0))
    assert (found.low_per_second, found.high_per_second) == (None, None)
    assert found.says.startswith("no rate passed 3 of 3, and none failed 2 of 3; the generator's own ceiling")


@given(outcomes=st.lists(st.sampled_from("+-c"), min_size=200, max_size=200), most=st.integers(1, 100))
def test_whatever_trials_say_it_ends_with_an_interval_in_order(outcomes: Sequence[str], most: int) -> None:
    """Even where they are drawn by lot; no rate is tried more than three times."""
    turns = iter(outcomes)
    search = Search(100, most_trials=most)
    found, tried = play(
        search,
        lambda rate: _scripted({rate: next(turns)})(rate),
    )
    assert len(tried) <= most
    assert found.trials == len(tried)
    assert max(tried.count(rate) for rate in tried) <= 3
    if found.low_per_second is not None and found.high_per_second is not None:
        assert found.low_per_second < found.high_per_second
        assert all(found.low_per_second < rate for rate in found.disagreed)


def test_a_search_that_was_cut_goes_on_with_its_trials() -> None:
    """They are given again in any order; so `resume` needs no state but what the runs left."""
    system = exact(1_234)
    whole, tried = play(Search(100), system)
    again = Search(100)
    for rate in reversed(tried[:7]):
        again.took(rate, system(rate))
    assert again.next_rate() == tried[7]
    assert play(again, system)[0] == whole


def test_too_few_trials_are_said() -> None:
    """What is known by then is told, and that it is not all."""
    found, tried = play(Search(100, most_trials=5), exact(1_234))
    assert len(tried) == 5
    assert not found.ended
    assert found.says.endswith("; not all was tried that should be: 5 trials")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spread", "least", "most_low"),
    [(0.005, 0.9, 0.03), (0.01, 0.85, 0.03), (0.02, 0.75, 0.05), (0.05, 0.6, 0.08)],
)
def test_how_often_a_noisy_networks_capacity_lies_in_the_interval(
    spread: float, least: float, most_low: float
) -> None:
    """As the document says: where it does not, it lies above far more often than below."""
    capacities = 1_000 * 2 ** (np.arange(400) / 400)
    found = [play(Search(100), blurred(float(true), spread, seed))[0] for seed, true in enumerate(capacities)]
    lows = np.array([one.low_per_second for one in found], dtype=float)
    highs = np.array([one.high_per_second for one in found], dtype=float)
    assert np.mean((lows <= capacities) & (capacities <= highs)) >= least
    assert np.mean((lows <= capacities * (1 + spread)) & (capacities <= highs * (1 + spread))) >= 0.9
    assert np.mean(lows > capacities) <= most_low
    assert max(one.trials for one in found) <= 40


@pytest.mark.parametrize("spread", [0.0, 0.02])
def test_the_capacity_of_a_queue(spread: float) -> None:
    """By its backlog alone: what it serves each second varies; 1 % more than it serves may be asked of it."""
    held = 0
    for seed in range(60):
        capacity = 1_000.0 + 10 * seed
        found, _ = play(Search(100), queue(capacity, spread, seed))
        assert found.low_per_second is not None
        assert found.high_per_second is not None
        held += found.low_per_second <= capacity / 0.99 and capacity <= found.high_per_second
    assert held >= 57


def test_what_is_allowed_decides_what_counts_as_capacity() -> None:
    """Response time 1 s / (1,000 − rate) is 10 ms at 900/s; of 555.6/s what is above 500/s is 10 %."""

    def slower(rate: float) -> Trial:
        return Trial(rate, rate, [0.0] * 10, 0.0, 1e9 / (1_000 - rate) if rate < 1_000 else None)

    def losing(rate: float) -> Trial:
        return Trial(rate, rate, [0.0] * 10, max(0.0, 1 - 500 / rate), 1)

    for system, limits, capacity in (
        (slower, Limits(p99_ns=10_000_000), 900),
        (losing, Limits(), 500),
        (losing, Limits(lost_share=0.1), 500 / 0.9),
    ):
        found, _ = play(Search(100, limits=limits), system)
        assert found.low_per_second is not None
        assert found.high_per_second is not None
        assert found.low_per_second <= capacity < found.high_per_second


@pytest.mark.parametrize(("low", "high", "resolution"), [(0, None, 0.05), (10, 10, 0.05), (10, None, 0.001)])
def test_what_cannot_be_searched_is_refused(low: float, high: float | None, resolution: float) -> None:
    """With what to give instead."""
    with pytest.raises(ValueError, match=r"a search .* give"):
        Search(low, high, resolution=resolution)
