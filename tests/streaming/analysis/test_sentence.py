"""The answer in plain English."""

from __future__ import annotations

from typing import Any

import pytest

from streaming.analysis.sentence import amounts, needs, sentence, span
from streaming.analysis.verdicts import FigureVerdict


def _figure(name: str, word: str, **known: Any) -> FigureVerdict:
    unit = {"rate": "1/s", "loss": "share"}.get(name, "ns")
    empty = dict.fromkeys(
        ("a", "b", "difference", "low", "high", "margin", "p_value", "p_holm", "repetitions")
    )
    return FigureVerdict(
        **{**empty, "name": name, "unit": unit, "word": word, "not_worse": False, "decided_by": "", **known}
    )


_WORSE = _figure("p99", "worse", a=4.1e6, b=6.3e6, difference=0.537, low=0.312, high=0.803)
_SAME = [_figure(name, "same") for name in ("rate", "loss")]


def test_what_became_worse_stands_first_with_its_numbers() -> None:
    assert sentence("worse", [_figure("p50", "same"), _WORSE, *_SAME], "", ["by night"]) == (
        "worse: p99 4.1 → 6.3 ms (+54 %, 90 % interval +31 to +80 %); p50, rate and loss the same; by night"
    )


def test_a_reason_stands_before_the_numbers() -> None:
    assert sentence("unclear", [_WORSE, *_SAME], "it rained", []) == (
        "unclear: it rained; p99 worse; rate and loss the same"
    )
    assert sentence("unclear", [], "too few", []) == "unclear: too few"


@pytest.mark.parametrize(
    ("name", "a", "b", "text"),
    [
        ("p50", 850.0, 999.0, "850 → 999 ns"),
        ("p50", 950.0, 1_900.0, "0.95 → 1.9 µs"),
        ("p99", 2e9, 0.5e9, "2 → 0.5 s"),
        ("rate", 1_234.5, 99.96, "1,234 → 100/s"),
        ("rate", 0.5, 12.3, "0.5 → 12/s"),
        ("loss", 0.0, 0.00531, "0 → 0.53 %"),
        ("loss", 1.0, 0.000_01, "100 → 0.001 %"),
    ],
)
def test_both_sides_are_told_in_one_unit(name: str, a: float, b: float, text: str) -> None:
    assert amounts(_figure(name, "unclear", a=a, b=b)) == text


@pytest.mark.parametrize(
    ("name", "numbers", "text"),
    [
        ("p50", (0.0, -0.0312, 0.0299), "0 %, 90 % interval −3.1 to +3 %"),
        ("rate", (-0.5, -0.6, -0.4), "−50 %, 90 % interval −60 to −40 %"),
        ("p99", (11.0, 9.0, 13.0), "+1,100 %, 90 % interval +900 to +1,300 %"),
        ("loss", (0.0053, 0.0041, 0.0066), "+0.53 points, 90 % interval +0.41 to +0.66 points"),
    ],
)
def test_a_difference_is_told_with_its_interval(
    name: str, numbers: tuple[float, float, float], text: str
) -> None:
    told = dict(zip(("difference", "low", "high"), numbers, strict=True))
    assert span(_figure(name, "unclear", **told)) == text


def test_what_would_decide_it_is_said_once_for_several_figures() -> None:
    figures = [
        _figure("p50", "unclear", repetitions=9),
        _figure("p99", "unclear", repetitions=14),
        _figure("rate", "unclear", decided_by="more load"),
        _figure("loss", "unclear", decided_by="more load"),
    ]
    assert needs(figures) == [
        "about 14 repetitions a side would decide p50 and p99",
        "for rate and loss it takes more load",
    ]
    assert needs([_WORSE]) == []
