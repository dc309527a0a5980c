"""What waits on a link when a poll asks may be dropped later: that is a bound, and nothing that is said."""

from __future__ import annotations

from dataclasses import replace

from attribution.simulated import drive
from attribution.simulated.history import Item, simulate

from collectors.contract.telemetry import Telemetry
from streaming.attribution import Attribution


def with_one_waiting(item: Item) -> Item:
    """Return the item with a message waiting on each link to a receiver."""
    value = item.value
    if not isinstance(value, Telemetry) or value.entity != "path_link":
        return item
    rows = [
        {**row, "undelivered": 1} if row["kind"] == "end" and row["direction"] == "out" else row
        for row in value.rows
    ]
    return replace(item, value=replace(value, rows=rows))


def test_what_waited_is_not_said_to_be_dropped() -> None:
    """The router that died explains it all, though the one behind may have dropped one of them, too."""
    history = simulate(2, "middle_killed")
    items = [with_one_waiting(item) for item in history.items]
    rows = [row for row in drive.last(drive.drive(history.places, items, Attribution)) if row["lost"]]
    assert rows
    for row in rows:
        said = {(hop["kind"], hop["cause"]): hop["said"] for hop in row["hops"]}
        assert said.get(("end", "dropped"), 0) == 0
        assert said["router", "gone"] == row["lost"]
