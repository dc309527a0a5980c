"""What a group keeps over hours in which something is lost again and again."""

from __future__ import annotations

import json
import zlib
from typing import Any

import made_rows
import pytest
from attribution.simulated import drive
from attribution.simulated.history import simulate
from made_rows import SECOND

from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import ROUTER
from streaming.attribution.engine import Attribution
from streaming.attribution.places import Place

POLL_NS = 10 * SECOND
HOUR_POLLS = 360
LOST_EVERY = 24  # windows


def link(peer: str, kind: str, direction: str, address: str, dropped: int) -> dict[str, Any]:
    counters = ("presettled", "accepted", "rejected", "released", "modified")
    gauges = ("undelivered", "unsettled", "credit", "zero_credit_seconds")
    return {
        "identity": f"{peer}-{direction}",
        "name": "",
        "kind": kind,
        "direction": direction,
        "peer": peer,
        "own": kind == "end",
        "address": address,
        "phase": "",
        "deliveries": dropped,
        "dropped_presettled": dropped,
        **dict.fromkeys((*counters, *gauges), 0),
        "state": "",
    }


def play_hour(core: Attribution, hour: int, next_router: str) -> None:
    """Lose a message in every 24th window, which the link to the next router drops."""
    for poll in range(hour * HOUR_POLLS, (hour + 1) * HOUR_POLLS):
        at_ns = made_rows.START + poll * POLL_NS
        core.reach(at_ns)
        stamps = {"at_ns": at_ns, "asked_ns": at_ns, "answered_ns": at_ns}
        dropped = (2 * poll) // LOST_EVERY
        rows = {
            "node": [{"id": next_router, "next_hop": None, "cost": 1}],
            "path_link": [
                link(next_router, "router", "out", "", dropped),
                link("sender", "end", "in", "a", 0),
            ],
        }
        for entity, told in rows.items():
            record = Telemetry(
                "east", "m", "A", entity, interval_ns=POLL_NS, poll=poll, rows=told, run="r", **stamps
            )
            core.feed_poll(ROUTER, record)
        ends = [
            {"role": role, "name": role, "state": "ok", "peer": peer}
            for role, peer in (("sender", "A"), ("receiver", next_router))
        ]
        live = made_rows.live("one", 2 * poll, mesh="m", address="a", presettled=True)
        core.feed_live(
            {**live, "ends": [{**live["ends"][0], **end} for end in ends]} if live["ends"] else live
        )
        for number in (2 * poll - 2, 2 * poll - 1):
            if number >= 0:
                lost = int(number % LOST_EVERY == 0)
                routes = {f"A>{next_router}": 50}
                row = made_rows.window(
                    "one", number, mesh="m", address="a", presettled=True, lost=lost, routes=routes
                )
                core.feed_window(row)
        core.turn(at_ns)


@pytest.mark.slow
def test_what_was_told_of_hops_that_are_gone_is_forgotten() -> None:
    """Routers in containers have another name after each restart: what is told of each must not add up."""
    core = Attribution({"one": Place("m", ("m",), "a", "a", presettled=True)})
    told = []
    for hour in range(5):
        play_hour(core, hour, f"B-{hour}")
        told.append(json.loads(zlib.decompress(core.encode()))["state"]["shared"])
    assert told[1]
    assert max(map(len, told)) <= 2
    assert sum(map(len, told[-1].values())) <= sum(map(len, told[1].values())) + 1


def test_rows_that_were_told_are_not_kept() -> None:
    """To see that a row says nothing new takes no copy of it: of 200 paths these were 9 MB an hour."""
    history = simulate(2, "no_credit")
    core = Attribution(history.places)
    rows = []
    for item in history.items:
        drive.feed(core, item)
        if item.append_ns % (5 * SECOND) == 0 or item is history.items[-1]:
            rows += core.turn(item.append_ns)
    state = zlib.decompress(core.encode()).decode()
    assert rows
    assert "unexplained_lost" not in state  # a field of rows alone
