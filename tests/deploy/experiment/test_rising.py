"""Peak and break of a setting that rises: worked examples."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.experiment import rising


def step(value: object, sent: int, in_time: int) -> dict[str, Any]:
    """A step of ten windows of a second."""
    figures = {"sent": sent, "windows": 10, "series": {"window_seconds": 1.0}}
    return {"value": value, "in_time": in_time, "figures": {"all": figures}}


def test_peak_and_break_are_told() -> None:
    """200 a second are answered in time at 20 clients; at 30 a third is late, and less comes: it breaks."""
    found = rising.read([step(10, 1_000, 1_000), step(20, 2_000, 2_000), step(30, 2_400, 1_500)])
    assert found is not None
    assert (found["peak_level"], found["peak_per_second"], found["breaks_at"]) == (20, 200, 30)


def test_rates_are_numbers_with_their_unit() -> None:
    found = rising.read([step("100/s", 1_000, 1_000), step("200/s", 2_000, 1_000)])
    assert found is not None
    assert found["breaks_at"] == 200


@pytest.mark.parametrize(
    "values", [[], [10], [20, 10], [10, 10], ["1kB", "2kB"], ["quick", "slow"], ["1/s", 2]]
)
def test_what_is_no_ramp_has_neither(values: list[object]) -> None:
    """One step, steps that do not rise, and settings at which nothing breaks, such as sizes."""
    assert rising.read([step(value, 1_000, 1_000) for value in values]) is None
