"""Error budgets: of 30 days, told as what is left or how often it is used up, and since when."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_counts import Made
from made_rows import LENGTH, SECOND, START, window

from streaming.exporter.page_data import snapshot
from streaming.exporter.state_file import StateFile
from streaming.wording import budget

DAY = 86_400 * SECOND
WINDOWS_A_DAY = 86_400 // 5
DELIVERY = 'slo="delivery"'


@pytest.fixture
def made() -> Made:
    found = Made()
    found.now_ns = START + 90 * DAY
    return found


def told(made: Made) -> tuple[float | None, float | None]:
    """What is left, and since when it has been overspent; the same in the page's JSON and as metrics."""
    (path,) = snapshot(made.exporter)["paths"]
    slo = next(slo for slo in path["slos"] if slo["slo"] == "delivery")
    assert made.value("path_slo_budget_left_ratio", DELIVERY) == slo["budget_left"]
    since = slo["overspent_since_seconds"]
    assert made.value("path_slo_overspent_since_timestamp_seconds", DELIVERY) == (since or 0)
    return slo["budget_left"], since


def test_left_and_overspent(made: Made) -> None:
    """Of 1,000 messages the objective of 99.9 % lets one fail; the next one overspends it from then on."""
    assert told(made) == (None, None)
    made.feed(window(number=0, values_ns=[1] * 999, lost=1))
    assert told(made) == (pytest.approx(0), None)
    made.feed(window(number=1, values_ns=[1] * 1_000))
    assert told(made) == (pytest.approx(0.5), None)
    made.feed(window(number=2, values_ns=[1] * 997, lost=3))
    made.feed(window(number=3, values_ns=[1] * 800, lost=200))
    left, since = told(made)
    assert left == pytest.approx(1 - 204 / 4)  # of 4,000 four may fail
    assert since == (START + 2 * LENGTH) / 1e9


def test_days_older_than_thirty_count_no_more(made: Made) -> None:
    """With the day on which too many were lost goes what overspent the budget."""
    made.feed(window(number=0, lost=50))
    made.feed(window(number=WINDOWS_A_DAY, values_ns=[1] * 100))
    left, since = told(made)
    assert left is not None
    assert left < 0
    assert since == START / 1e9
    made.feed(window(number=29 * WINDOWS_A_DAY, values_ns=[1] * 100))
    assert told(made)[1] == START / 1e9
    made.feed(window(number=30 * WINDOWS_A_DAY, values_ns=[1] * 100))
    assert told(made) == (1, None)
    assert len(made.exporter.paths["east-west"].counters.budgets["delivery"].days) <= 30


def test_survives_a_restart(made: Made, tmp_path: Path) -> None:
    """What is left and since when, from the state file; one of before has the totals alone."""
    state = StateFile(tmp_path / "exporter.json", "inflight")
    made.feed(window(number=0, lost=50), window(number=WINDOWS_A_DAY, values_ns=[1] * 100))
    before = told(made)
    state.save(made.exporter, {})
    made.start()
    state.load(made.exporter)
    assert told(made) == before
    value = json.loads(state.file.read_bytes())
    del value["paths"]["east-west"]["budgets"]
    state.file.write_text(json.dumps(value))
    made.start()
    state.load(made.exporter)
    made.feed(window(number=WINDOWS_A_DAY + 1, values_ns=[1] * 50))
    left, since = told(made)
    assert left == pytest.approx(1 - (50 / 250) / 0.001)
    assert since == (START + (WINDOWS_A_DAY + 1) * LENGTH) / 1e9


@pytest.mark.parametrize(
    ("left", "text"),
    [
        (1.0, "100 % left"),
        (0.384, "38 % left"),
        (0.0, "0 % left"),
        (-0.04, "used up 1.0 times over, since 14:02"),
        (-1.5, "used up 2.5 times over, since 14:02"),
        (-170.43, "used up 171 times over, since 14:02"),
        (-1_999.0, "used up 2,000 times over, since 14:02"),
    ],
)
def test_budgets_in_words(left: float, text: str) -> None:
    """-17,043 % tells nobody anything."""
    assert budget(left, "14:02") == text
