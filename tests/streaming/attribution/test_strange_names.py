"""Names that routers tell of others, and queues: whatever they are, rows are of the contract."""

from __future__ import annotations

from dataclasses import replace

import pytest
from attribution.simulated import drive
from attribution.simulated.history import Item, simulate
from attribution.simulated.parts import SECOND

from collectors.contract import attribution_rows
from collectors.contract.telemetry import Telemetry
from streaming.attribution import Attribution

STRANGE = ["B\0x", "B\x1b[31m", "\u202eB", "B" * 4_000, ""]


def with_next_hop(item: Item, name: str) -> Item:
    """Return the item with this as the next hop to everywhere, if it tells next hops."""
    value = item.value
    if not isinstance(value, Telemetry) or value.entity != "node":
        return item
    return replace(item, value=replace(value, rows=[{**row, "next_hop": name} for row in value.rows]))


@pytest.mark.parametrize("name", STRANGE)
def test_a_next_hop_that_is_no_name_is_left_out(name: str) -> None:
    """Else no row of a path behind it would be of the contract, and their reader would drop all."""
    history = simulate(1, "no_credit")
    items = [with_next_hop(item, name) for item in history.items]
    rows = drive.drive(history.places, items, Attribution)
    read = [attribution_rows.decode(attribution_rows.encode(row)) for row in rows]
    assert [row for row in read if row["lost"]]
    assert not [stop for row in read for stop in row["route"] if name and stop["hop"].startswith(name)]


def test_an_address_that_cannot_be_printed_is_told_with_marks() -> None:
    """The queue of a broker has the name that the config gives the address."""
    history = simulate(1, "no_consumer")
    places = {
        name: replace(place, receive_address=f"{place.address}::\u202e\x1bqueue")
        for name, place in history.places.items()
    }
    core = Attribution(places)
    for item in history.items:
        drive.feed(core, item)
        for row in core.turn(item.append_ns) if item.append_ns % (5 * SECOND) == 0 else ():
            attribution_rows.decode(attribution_rows.encode(row))
    rows = drive.drive(places, history.items, Attribution)
    assert [attribution_rows.decode(attribution_rows.encode(row)) for row in rows]
