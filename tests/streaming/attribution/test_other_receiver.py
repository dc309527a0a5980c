"""Somebody else's receiver at a path's address takes its messages: nothing is lost, and no counter tells."""

from __future__ import annotations

from dataclasses import replace

from attribution.simulated import drive
from attribution.simulated.history import Item, simulate

from collectors.contract.telemetry import Telemetry
from streaming.attribution import Attribution


def with_receiver(item: Item, router: str, *, own: bool) -> Item:
    """Return the item with a further receiver at this router, if it tells links there."""
    value = item.value
    if not isinstance(value, Telemetry) or (value.entity, value.target) != ("path_link", router):
        return item
    into = [row for row in value.rows if row["kind"] == "end" and row["direction"] == "in"]
    further = [
        {**row, "identity": f"x{row['identity']}", "direction": "out", "own": own, "peer": "somebody"}
        | {"deliveries": value.poll, "dropped_presettled": 0}
        for row in into
    ]
    return replace(item, value=replace(value, rows=[*value.rows, *further]))


def test_is_named_where_nothing_else_explains_what_is_missing() -> None:
    """Else one would look for a loss that there is not."""
    history = simulate(1, "lossy_way")
    links = [
        item.value
        for item in history.items
        if isinstance(item.value, Telemetry) and item.value.entity == "path_link"
    ]
    router = next(
        one.target for one in links if any(row["own"] and row["direction"] == "in" for row in one.rows)
    )
    for own in (False, True):
        items = [with_receiver(item, router, own=own) for item in history.items]
        rows = [row for row in drive.last(drive.drive(history.places, items, Attribution)) if row["lost"]]
        assert rows
        text = f"another receiver of its address takes messages at {router}"
        assert all((text in row["not_exact"]) is not own for row in rows)
        assert all((text in row["sentence"]) is not own for row in rows if not row["hops"])
