"""Messages that were sent late: the delay is before the first router, whatever waits further on."""

from __future__ import annotations

import made_rows
from made_rows import LENGTH, START

from collectors.contract.attribution_rows import AttributionRow
from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import ROUTER
from streaming.attribution.engine import Attribution
from streaming.attribution.places import Place

MS = 1_000_000
QUIET = 70  # windows until it is known what is normal


def slow_rows(response_ms: int, service_ms: int) -> list[AttributionRow]:
    """Return what is told of windows that are slow after many that are not."""
    core = Attribution({"one": Place("m", ("m",), "a", "a")})
    ends = [{"role": "sender", "name": "s", "state": "attached", "peer": "A"}]
    live = made_rows.live("one", 0, mesh="m", address="a")
    live["ends"] = [{**live["ends"][0], **ends[0]}]  # type: ignore[typeddict-item] # an end by construction
    rows = []
    for number in range(QUIET + 6):
        slow = QUIET <= number < QUIET + 3
        response = made_rows.latency([(response_ms if slow else 2) * MS] * 50)
        service = made_rows.latency([(service_ms if slow else 2) * MS] * 50)
        at_ns = START + number * LENGTH
        core.feed_poll(
            ROUTER,
            Telemetry(
                "s", "m", "A", "path_link", at_ns, LENGTH, number, [], asked_ns=at_ns, answered_ns=at_ns
            ),
        )
        core.feed_live(live)
        core.feed_window(
            made_rows.window("one", number, mesh="m", address="a", response=response, service=service)
        )
        rows += core.turn(START + (number + 4) * LENGTH)
    return [row for row in rows if row["slow"]]


def test_the_hop_to_the_first_router_is_named() -> None:
    """Of 98 ms more than usual 95 ms passed before they were sent."""
    last = slow_rows(100, 5)[-1]
    assert [(hop["hop"], hop["cause"], hop["of"]) for hop in last["hops"]] == [
        ("sender → A", "waiting", "late")
    ]
    assert abs(last["hops"][0]["delay_ns"] - 95 * MS) < MS
    assert "sender → A" in last["sentence"]


def test_is_not_named_where_they_were_sent_in_time() -> None:
    """The delay was on the way, and nothing says where."""
    last = slow_rows(100, 98)[-1]
    assert last["hops"] == []
