"""Fewer points that look the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dashboards.report.model import Line
from dashboards.report.points import thinned

_values = st.lists(
    st.one_of(st.just(float("nan")), st.floats(-1e9, 1e9, allow_nan=False)), min_size=1, max_size=500
)


@given(_values, st.integers(0, 200))
def test_bounded_with_its_peaks_and_ends(values: list[float], most: int) -> None:
    """Never more than asked for (or four), each one of the line's, in order, the extremes among them."""
    line = Line("x", np.arange(len(values), dtype=float) * 2, np.array(values))
    few = thinned(line, most)
    assert len(few.values) <= max(most, 4)
    assert (np.diff(few.seconds) > 0).all()
    for second, value in zip(few.seconds, few.values, strict=True):
        np.testing.assert_equal(value, values[int(second) // 2])
    if not np.isnan(values).all():
        assert np.nanmax(few.values) == np.nanmax(values)
        assert np.nanmin(few.values) == np.nanmin(values)
    assert few.seconds[0] == 0
    assert few.seconds[-1] == 2 * (len(values) - 1)


def test_a_gap_stays_a_gap() -> None:
    """An outage of 100 of 1,000 points is seen in 50."""
    values = np.ones(1_000)
    values[400:500] = np.nan
    few = thinned(Line("x", np.arange(1_000.0), values), 50)
    assert np.isnan(few.values[(few.seconds >= 400) & (few.seconds < 500)]).any()
