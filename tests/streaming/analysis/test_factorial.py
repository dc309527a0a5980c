"""Effects of 2^k r designs: against a worked example, other software, a published table and known models."""

from __future__ import annotations

import json
import random
from itertools import product
from math import prod, sqrt

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.anova import anova_lm

from streaming.analysis.factorial import Effects, analyse

# Two factors, two repetitions; the second repetition was 1 slower throughout but for one run.
WORKED = [
    ({"size": -1, "cost": -1}, 10.0, 0),
    ({"size": 1, "cost": -1}, 20.0, 0),
    ({"size": -1, "cost": 1}, 14.0, 0),
    ({"size": 1, "cost": 1}, 32.0, 0),
    ({"size": -1, "cost": -1}, 11.0, 1),
    ({"size": 1, "cost": -1}, 21.0, 1),
    ({"size": -1, "cost": 1}, 15.0, 1),
    ({"size": 1, "cost": 1}, 37.0, 1),
]
# shared/data/published.md, the row mix-2k: clients, brokers, workers, connections, median ms.
PUBLISHED = """
15,4,4,4,6.80   15,4,4,8,7.46   15,4,8,4,6.87   15,4,8,8,7.21
15,8,4,4,5.11   15,8,4,8,7.55   15,8,8,4,5.90   15,8,8,8,7.60
30,4,4,4,14.08  30,4,4,8,12.80  30,4,8,4,13.42  30,4,8,8,13.97
30,8,4,4,12.43  30,8,4,8,14.85  30,8,8,4,12.88  30,8,8,8,15.05
"""
NAMES = ("a", "b", "c", "d")


def _worked() -> Effects:
    levels, values, repetitions = zip(*WORKED, strict=True)
    return analyse(levels, values, repetitions)


def _combinations(count: int) -> list[dict[str, int]]:
    return [dict(zip(NAMES, levels, strict=False)) for levels in product((-1, 1), repeat=count)]


def _noisy(count: int, repetitions: int, seed: int) -> tuple[list[dict[str, int]], list[float], list[int]]:
    """Return runs in random order of a model with an effect of a, of a × b, of the repetition and noise."""
    rng = random.Random(seed)  # noqa: S311 -- an example, no secret
    runs = [(run, block) for block in range(repetitions) for run in _combinations(count)]
    rng.shuffle(runs)
    values = [50 + 4 * run["a"] + 1.5 * run["a"] * run["b"] + block + rng.gauss(0, 1) for run, block in runs]
    return [run for run, _ in runs], values, [block for _, block in runs]


def test_a_worked_example() -> None:
    """By hand: cell means 10.5, 20.5, 14.5, 34.5; their mean 20; half of each contrast.

    Blocks: 19 and 21, so ±1. Residuals: 10 − 10.5 + 1 = 0.5, and 32 − 34.5 + 1 = −1.5.
    """
    found = _worked()
    assert found.mean == 20
    assert {one.name: one.coefficient for one in found.effects} == {
        "size": 7.5,
        "cost": 4.5,
        "size × cost": 2.5,
    }
    assert found.residuals == pytest.approx((0.5, 0.5, 0.5, -1.5, -0.5, -0.5, -0.5, 1.5))
    assert found.predicted == pytest.approx((9.5, 19.5, 13.5, 33.5, 11.5, 21.5, 15.5, 35.5))
    assert found.degrees_of_freedom == 3
    # Squares: 8 × 56.25, 8 × 20.25, 8 × 6.25; blocks 8 × 1; errors 6 × 0.25 + 2 × 2.25.
    assert [one.share for one in found.effects] == pytest.approx([450 / 676, 162 / 676, 50 / 676])
    assert (found.share_blocks, found.share_errors) == pytest.approx((8 / 676, 6 / 676))
    # Variance of the errors 6 / 3 = 2, of a coefficient 2 / 8; Student's t for 3 degrees at 97.5 %: 3.1824.
    assert found.standard_error == pytest.approx(0.5)
    assert (found.effects[2].low, found.effects[2].high) == pytest.approx((0.9088, 4.0912), abs=1e-4)
    assert all(one.significant for one in found.effects)


def test_the_published_table_of_four_factors() -> None:
    """Sixteen medians once each; the whole sign table, recomputed here from its definition."""
    rows = [line.split(",") for line in PUBLISHED.split()]
    names = ("clients", "brokers", "workers", "connections")
    first = ("15", "4", "4", "4")
    levels = [
        {name: -1 if told == low else 1 for name, told, low in zip(names, row, first, strict=False)}
        for row in rows
    ]
    values = [float(row[4]) for row in rows]
    found = analyse(levels, values)
    assert found.mean == pytest.approx(10.249, abs=5e-4)
    assert [one.name for one in found.effects[:4]] == list(names)
    assert [one.coefficient for one in found.effects[:4]] == pytest.approx(
        [3.436, -0.077, 0.114, 0.562], abs=6e-4
    )
    assert len(found.effects) == 15
    for effect in found.effects:
        contrast = sum(
            prod(run[name] for name in effect.factors) * value
            for run, value in zip(levels, values, strict=True)
        )
        assert effect.coefficient == pytest.approx(contrast / 16)
    assert sum(one.share for one in found.effects) == pytest.approx(1)


def test_one_repetition_has_no_interval_but_a_plot() -> None:
    """Its quantiles are those at (i − 0.5) / 3 of the upper half, from a printed table of the normal one."""
    found = analyse(_combinations(2), [10.0, 12.0, 20.0, 23.0])
    assert found.degrees_of_freedom == 0
    assert found.standard_error is None
    assert all((one.low, one.high, one.significant) == (None, None, None) for one in found.effects)
    plot = found.half_normal()
    assert [point.name for point in plot] == ["a × b", "b", "a"]
    assert [point.size for point in plot] == pytest.approx([0.25, 1.25, 5.25])
    assert [point.quantile for point in plot] == pytest.approx([0.2104, 0.6745, 1.3830], abs=1e-4)
    assert found.pseudo_standard_error is not None
    assert "no effect has an interval" in found.why


def test_the_pseudo_standard_error_leaves_out_what_stands_out() -> None:
    """Sizes 1 to 5, 14, 20: 1.5 × their middle is 6, only 20 is above 2.5 × that; 1.5 × 3.5 = 5.25."""
    effects = {
        ("a",): 20,
        ("b",): -1,
        ("c",): 2,
        ("a", "b"): -3,
        ("a", "c"): 4,
        ("b", "c"): 5,
        NAMES[:3]: -14,
    }
    runs = _combinations(3)
    values = [sum(size * prod(run[name] for name in term) for term, size in effects.items()) for run in runs]
    assert analyse(runs, values).pseudo_standard_error == pytest.approx(5.25)


@pytest.mark.parametrize(("count", "repetitions"), [(1, 2), (2, 2), (3, 4), (4, 3)])
def test_a_regression_with_blocks_says_the_same(count: int, repetitions: int) -> None:
    """Ordinary least squares of statsmodels: coefficients, intervals, sums of squares, residuals."""
    levels, values, blocks = _noisy(max(count, 2), repetitions, seed=count)
    found = analyse(levels, values, blocks)
    factors = list(levels[0])
    frame = pd.DataFrame(levels).assign(value=values, block=blocks)
    fit = smf.ols(f"value ~ {' * '.join(factors)} + C(block, Sum)", frame).fit()
    intervals, table = fit.conf_int(), anova_lm(fit)
    total = float(table["sum_sq"].sum())
    assert found.degrees_of_freedom == fit.df_resid
    for effect in found.effects:
        term = ":".join(effect.factors)
        assert effect.coefficient == pytest.approx(fit.params[term])
        assert (effect.low, effect.high) == pytest.approx(tuple(intervals.loc[term]))
        assert effect.share == pytest.approx(table["sum_sq"][term] / total)
    assert found.share_blocks == pytest.approx(table["sum_sq"]["C(block, Sum)"] / total)
    assert found.share_errors == pytest.approx(table["sum_sq"]["Residual"] / total)
    assert found.residuals == pytest.approx(tuple(fit.resid), abs=1e-9)


def test_what_is_within_noise_is_not_explained() -> None:
    """Of three factors only a, and a × b, do anything."""
    levels, values, blocks = _noisy(3, 6, seed=3)
    found = analyse(levels, values, blocks)
    assert [one.name for one in found.effects if one.significant] == ["a", "a × b"]
    explained, noise = found.why.split("; ")
    assert explained.startswith("explained: a ")
    assert "a × b" in explained
    assert noise == "within noise: " + ", ".join(
        one.name for one in sorted(found.effects, key=lambda one: -one.share)[2:]
    )


def test_noise_alone_explains_nothing() -> None:
    """And that is what is said."""
    values = [1.0, 2.0, 2.0, 1.0, 2.0, 1.0, 1.0, 2.0]
    found = analyse(_combinations(2) * 2, values, [0] * 4 + [1] * 4)
    assert found.why == "no effect can be told from noise"


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """95 % of 600 × 3; 1.5 points are three standard deviations of that count."""
    truth = {"a": 4.0, "b": 0.0, "a × b": 1.5}
    held = [
        one.low <= truth[one.name] <= one.high
        for seed in range(600)
        for one in analyse(*_noisy(2, 3, seed)).effects
        if one.low is not None and one.high is not None
    ]
    assert np.mean(held) == pytest.approx(0.95, abs=3 * sqrt(0.95 * 0.05 / len(held)))


def test_all_of_it_is_json() -> None:
    """For the report."""
    told = json.loads(json.dumps(_worked().as_json()))
    assert told["effects"][0]["name"] == "size"
    assert told["why"] == _worked().why


@st.composite
def _models(draw: st.DrawFn) -> tuple[list[dict[str, int]], dict[tuple[str, ...], float], list[float]]:
    """Draw a model without noise: its effects, and what each repetition adds; these add up to 0."""
    runs = _combinations(draw(st.integers(1, 4)))
    names = list(runs[0])
    size = st.floats(-1e3, 1e3, allow_nan=False).map(lambda value: round(value, 3))
    terms = [
        tuple(name for name, there in zip(names, chosen, strict=True) if there)
        for chosen in product((0, 1), repeat=len(names))
    ]
    blocks = draw(st.lists(size, min_size=2, max_size=4))
    middle = sum(blocks) / len(blocks)
    return runs, {term: draw(size) for term in terms}, [block - middle for block in blocks]


def _played(
    model: tuple[list[dict[str, int]], dict[tuple[str, ...], float], list[float]],
) -> list[tuple[dict[str, int], float, int]]:
    runs, effects, blocks = model
    return [
        (run, added + sum(size * prod(run[name] for name in term) for term, size in effects.items()), block)
        for block, added in enumerate(blocks)
        for run in runs
    ]


@given(model=_models(), seed=st.integers(0, 99))
def test_effects_of_a_model_without_noise_are_found_exactly(
    model: tuple[list[dict[str, int]], dict[tuple[str, ...], float], list[float]], seed: int
) -> None:
    """In whatever order the runs were made; and what has no effect is within noise."""
    played = _played(model)
    random.Random(seed).shuffle(played)  # noqa: S311 -- an order, no secret
    levels, values, blocks = zip(*played, strict=True)
    found = analyse(levels, values, blocks)
    assert found.mean == pytest.approx(model[1][()], abs=1e-8)
    for effect in found.effects:
        truth = next(size for term, size in model[1].items() if set(term) == set(effect.factors))
        assert effect.coefficient == pytest.approx(truth, abs=1e-8)
        assert effect.significant == (truth != 0)
    assert found.residuals == pytest.approx([0] * len(values), abs=1e-8)
    shares = [one.share for one in found.effects] + [found.share_blocks, found.share_errors]
    assert sum(shares) == pytest.approx(1) or sum(shares) == 0


@given(seed=st.integers(0, 10**6), flipped=st.sampled_from("abc"))
def test_other_names_for_a_factors_levels_turn_its_effects(seed: int, flipped: str) -> None:
    """Those with the factor in it, and nothing else."""
    levels, values, blocks = _noisy(3, 2, seed)
    other = analyse([{**run, flipped: -run[flipped]} for run in levels], values, blocks)
    for before, after in zip(analyse(levels, values, blocks).effects, other.effects, strict=True):
        sign = -1 if flipped in before.factors else 1
        assert after.coefficient == pytest.approx(sign * before.coefficient)
        assert after.share == pytest.approx(before.share)
        assert after.significant == before.significant
