"""Margins and words by examples that can be reckoned by hand."""

from __future__ import annotations

import math

import pytest

from streaming.analysis.equivalence import DEFAULT, is_not_worse, repetitions_needed, word_of
from streaming.analysis.figures import FIGURES

_P50, _P99, _RATE, _LOSS = FIGURES


@pytest.mark.parametrize(
    ("figure", "interval", "p_holm", "word", "not_worse"),
    [
        (_P50, (-0.04, 0.04), 0.001, "same", True),
        (_P50, (0.01, 0.06), 0.04, "worse", False),
        (_P50, (0.01, 0.06), 0.06, "unclear", False),
        (_P50, (-0.09, -0.06), 0.04, "better", True),
        (_P50, (-0.09, 0.04), 0.2, "unclear", True),
        (_RATE, (-0.2, -0.1), 0.04, "worse", False),
        (_RATE, (0.1, 0.2), 0.04, "better", True),
        (_RATE, (-0.04, 0.2), 0.9, "unclear", True),
        (_LOSS, (0.06, 0.07), 0.01, "worse", False),
    ],
)
def test_a_word_follows_from_the_interval_and_the_p_value(
    figure: object, interval: tuple[float, float], p_holm: float, word: str, *, not_worse: bool
) -> None:
    assert word_of(figure, sum(interval) / 2, interval, 0.05, p_holm) == word
    assert is_not_worse(figure, interval, 0.05) == not_worse


def test_margins_are_ratios_either_way_and_have_a_floor_for_latencies() -> None:
    """Of 10 ms 5 % are more than 50 µs; of 0.2 ms 50 µs are a quarter, taken of the faster side."""
    slow, fast = math.log(10e6), math.log(0.2e6)
    assert DEFAULT.on_scale(_P50, slow, slow) == pytest.approx(math.log(1.05))
    assert DEFAULT.on_scale(_P99, slow, slow) == pytest.approx(math.log(1.10))
    assert DEFAULT.on_scale(_P50, fast, slow) == pytest.approx(math.log(1.25))
    assert DEFAULT.on_scale(_P50, slow, fast) == pytest.approx(math.log(1.25))
    assert DEFAULT.on_scale(_RATE, 0.0, 0.0) == pytest.approx(math.log(1.02))
    assert DEFAULT.on_scale(_LOSS, 0.0, 0.5) == 0.0001


@pytest.mark.parametrize(
    ("difference", "half", "needed"),
    [
        (0.0, 0.1, 24),  # half as wide: four times as many
        (0.025, 0.05, 24),  # into the half of the margin that is left
        (0.2, 0.1, 7),  # (2.498 + 0.842)² · (0.1 / 1.645)² / 0.2² · 6 = 6.2, and more than there are
        (0.05, 0.1, 99),  # at the margin there is only the difference to find: 98.9
        (0.04, 0.1, None),  # 154, and 600 to fit beside it
    ],
)
def test_how_many_repetitions_it_takes(difference: float, half: float, needed: int | None) -> None:
    interval = difference - half, difference + half
    assert repetitions_needed(difference, interval, 0.05, 6, 4) == needed
