"""A router that stood still and went on, as with SIGSTOP: it is named, and not one of its links."""

from __future__ import annotations

from dataclasses import replace

import pytest
from attribution.simulated import drive
from attribution.simulated.history import Item, simulate

from collectors.contract.telemetry import Telemetry
from streaming.attribution import Attribution


def same_instance(item: Item) -> Item:
    """Return what a router tells as of one instance, whatever became of it."""
    value = item.value
    if not isinstance(value, Telemetry) or not value.instance:
        return item
    return replace(item, value=replace(value, instance=1))


def blamed(fault: str, seed: int, *, stood_still: bool) -> set[tuple[str, str]]:
    history = simulate(seed, fault)
    items = [same_instance(item) for item in history.items] if stood_still else history.items
    rows = drive.last(drive.drive(history.places, items, Attribution))
    first = [row["hops"][0] for row in rows if row["kind"] == "loss" and row["hops"]]
    return {(hop["hop"], hop["cause"]) for hop in first}


@pytest.mark.parametrize("seed", [1, 2])
def test_is_named_where_its_neighbours_answered_and_had_lost_it(seed: int) -> None:
    """It answers again as the instance that it was: no restart tells of it."""
    killed = blamed("middle_killed", seed, stood_still=False)
    assert blamed("middle_killed", seed, stood_still=True) == killed
    assert killed == {("B", "gone")}


def test_is_not_named_where_a_link_was_cut() -> None:
    """What lies behind a link that is cut is out of reach, too."""
    named = blamed("link_cut", 1, stood_still=True)
    assert named == blamed("link_cut", 1, stood_still=False)
    assert all(" → " in hop for hop, _ in named)
