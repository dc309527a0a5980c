"""What must hold: read as people write it, judged by a run's figures."""

from __future__ import annotations

import pytest

from deploy.experiment import must

FIGURES = {
    "all": {"lost_share": 0.001, "p99_ns": 20_000_000, "rate_per_second": 99.5, "unsent": 3, "p999_ns": None},
    "a/b: c": {"lost_share": 0.5},
}


@pytest.mark.parametrize(
    ("text", "held", "value"),
    [
        ("lost <= 0.1%", True, 0.001),
        ("lost < 0.1%", False, 0.001),
        ("lost<=0.05 %", False, 0.001),
        ("p99 <= 20ms", True, 20_000_000),
        ("p99 < 20ms", False, 20_000_000),
        ("rate >= 6000/m", False, 99.5),
        ("rate > 99/s", True, 99.5),
        ("unsent <= 3", True, 3),
        ("p99.9 <= 1h", False, None),
        ("a/b: c: lost <= 10%", False, 0.5),
        ("gone: lost <= 10%", False, None),
    ],
)
def test_a_bound_is_judged(text: str, held: bool, value: float | None) -> None:  # noqa: FBT001 -- a table
    """What is not known did not hold."""
    assert must.read(text).judge(FIGURES) == {"must": text, "held": held, "is": value}


@pytest.mark.parametrize(
    "text", ["", "lost", "lost = 1%", "lost <= 3", "p99 <= 3", "rate > fast", "sent > -1", 7]
)
def test_what_is_no_bound_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        must.read(text)
