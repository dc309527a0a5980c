"""Clocks that are wrong: nothing exact is claimed between them, and none hides what is stamped rightly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from attribution.simulated import checks, drive, plans
from attribution.simulated.faults import FAULTS
from attribution.simulated.history import History, Item, play, simulate
from attribution.simulated.parts import SECOND

from collectors.contract.attribution_rows import AttributionRow
from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import WINDOWS
from streaming.attribution import Attribution

DAY = 86_400 * SECOND
FAULT = "no_credit"


def with_clocks(collector_ns: int, probes_ns: int, seed: int = 2) -> History:
    plan = plans.draw(seed, FAULT, FAULTS[FAULT].needs, disturbed=False)
    return play(replace(plan, clocks_ns=(collector_ns, probes_ns, probes_ns)))


def told(history: History, items: Sequence[Item] | None = None) -> list[AttributionRow]:
    return drive.drive(history.places, history.items if items is None else items, Attribution)


def exact(rows: Sequence[AttributionRow]) -> list[str]:
    return [hop["hop"] for row in drive.last(rows) for hop in row["hops"] if hop["exact"]]


@pytest.mark.parametrize(("collector", "probes"), [(5, 0), (-5, 0), (0, 5), (3, -2)])
def test_nothing_is_exact_between_clocks_five_seconds_apart(collector: int, probes: int) -> None:
    """It is said why, and no bound below is claimed either."""
    rows = drive.last(told(with_clocks(collector * SECOND, probes * SECOND)))
    losses = [row for row in rows if row["lost"]]
    assert losses
    assert not exact(rows)
    assert {hop["lower"] for row in losses for hop in row["hops"]} <= {0}
    assert all("clocks" in row["not_exact"] for row in losses)


@pytest.mark.parametrize("both", [0, 5, -5])
def test_clocks_that_are_wrong_alike_do_no_harm(both: int) -> None:
    """Only what lies between them counts, not the time of whoever takes the records."""
    history = with_clocks(both * SECOND, both * SECOND)
    rows = told(history)
    assert exact(rows)
    assert checks.broken(history, rows) == []


@pytest.mark.parametrize("entity", ["path_link", "path_address", "mesh", "window"])
def test_a_clock_that_was_a_day_ahead_for_a_moment_hides_nothing(entity: str) -> None:
    """What it stamped then is refused; else what comes after it would be taken for older, for a day."""
    history = simulate(2, FAULT)
    plain = told(history)
    core, rows, seen, refused = Attribution(history.places), list[AttributionRow](), set[str](), 0
    turned_ns = history.items[0].append_ns
    for item in history.items:
        key = _stream(item, entity)
        if key is not None and key not in seen:
            seen.add(key)
            with pytest.raises(ValueError, match="wrong clock"):
                drive.feed(core, replace(item, value=_a_day_ahead(item.value)))
            refused += 1
        drive.feed(core, item)
        if item.append_ns > turned_ns + 5 * SECOND:
            turned_ns = item.append_ns
            rows += core.turn(turned_ns)
    assert refused
    assert exact(rows) == exact(plain) != []


def _stream(item: Item, entity: str) -> str | None:
    value = item.value
    if isinstance(value, Telemetry):
        of_mesh = entity == "mesh" and not value.target
        return value.target if value.entity == entity or of_mesh else None
    return "" if entity == "window" and item.topic is WINDOWS else None


def _a_day_ahead(value: object) -> object:
    if isinstance(value, Telemetry):
        ahead = {name: getattr(value, name) + DAY for name in ("at_ns", "asked_ns", "answered_ns")}
        return replace(value, **ahead)
    assert isinstance(value, dict)
    return {**value, "window_start_ns": value["window_start_ns"] + DAY}
