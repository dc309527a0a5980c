"""Whatever stands on a topic is refused, or all that is shown can be shown; and what comes next counts."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_counts import Made
from made_rows import LENGTH, SECOND, live, window
from nested import places, put
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from collectors.contract import events, telemetry, window_rows
from collectors.contract.events import Event
from collectors.contract.telemetry import BadTelemetry, Telemetry
from dashboards.page.feed import changes
from dashboards.terminal.table import screen
from streaming.exporter import Exporter
from streaming.exporter.core import FORGET_NS
from streaming.exporter.network import FORGET_NS as FORGET_TARGETS_NS
from streaming.exporter.page_data import snapshot
from streaming.exporter.state_file import StateFile

NOW = Made().now_ns
NUMBER = 8  # of the window that is made hostile; it ends before now


def of_collector(target: str, entity: str, *told: dict[str, Any]) -> dict[str, Any]:
    record = Telemetry("here", "prod", target, entity, NOW, 5 * SECOND, 1, list(told))
    found: dict[str, Any] = json.loads(record.encode())
    return found


LINK = {"peer": "B", "direction": "out", "type": "inter-router", "deliveries_added": 50, "undelivered": 3}
RECEIVER = {"role": "receiver", "name": "w", "run": "11" * 8, "link": "attached", "frontier_ns": NOW}
EVENT = Event(NOW - SECOND, NOW + SECOND, "maintenance", ("east-*",), "new cable")
# By the topic: records of each form, as JSON.
RECORDS: dict[str, list[dict[str, Any]]] = {
    "windows": [
        dict(window(number=NUMBER, lost=2, routes={"A/B": 50}, outage_since_ns=NOW)),
        dict(
            window(
                number=0, revision=1, lost=1, values_ns=[2_000_000] * 51, moves={"lost>received": 1}, late=1
            )
        ),
        dict(window("guest", NUMBER, slowest={"stream": "00" * 8, "seq": 7, "response_ns": 9})),
    ],
    "live": [dict(live(number=NUMBER, suspect=3, ends=[RECEIVER], outage_since_ns=NOW, behind_ns=5))],
    "events": [json.loads(events.encode(EVENT))],
    "router": [
        of_collector(
            "",
            "mesh",
            *({"kind": "router", "router": name, "up": name != "C", "reason": "gone"} for name in "ABC"),
            {"kind": "edge", "source": "A", "target": "B", "up": True, "cost": 1},
            {"kind": "difference", "difference": "missing_link", "names": ["A--C"]},
        ),
        of_collector("A", "router", {"router": "A", "mode": "interior", "version": "1", "uptime_seconds": 5}),
        of_collector("A", "link", {**LINK, "unsettled": 4, "dropped_presettled_added": 1}),
    ],
    "broker": [
        of_collector("artemis", "broker", {"up": True, "version": "2.44.0", "reason": None}),
        of_collector("artemis", "queue", {"queue": "q", "address": "a", "messages": 1, "added_added": 2}),
    ],
}
VALUES: list[Any] = [
    *(None, True, -1, 0, 10**400, -(10**400), 1 << 62, (1 << 63) - 1, 1 << 63, 1 << 70),
    *(float("inf"), float("-inf"), float("nan"), 1e308, 0.5),
    *("", "x" * 193, "x" * 100_000, "\n", "\x1b[2J", "\u202e", "\ud800", "9" * 30, "a>b", '"} 1'),
    *([], {}, [[[[[[]]]]]], ["x" * 500] * 3, {"x" * 500: 1}, {str(n): n for n in range(2_000)}, [1] * 5_000),
]


def decoders(exporter: Exporter) -> dict[str, Callable[[bytes], None]]:
    """As `inflight export` takes them."""
    return {
        "windows": lambda data: exporter.apply_window(window_rows.decode_window(data)),
        "live": lambda data: exporter.apply_live(window_rows.decode_live(data)),
        "events": lambda data: exporter.apply_event(events.decode(data)),
        "router": lambda data: exporter.apply_router(telemetry.decode(data)),
        "broker": lambda data: exporter.apply_broker(telemetry.decode(data)),
    }


PLACES = [
    (topic, number, place)
    for topic, records in RECORDS.items()
    for number, record in enumerate(records)
    for place in places(record)
]


def changed(topic: str, number: int, place: tuple[Any, ...], value: Any) -> bytes:
    record = copy.deepcopy(RECORDS[topic][number])
    put(record, place, value)
    return json.dumps(record).encode()


def fed() -> Made:
    """An exporter that has had a record of each form, and a window to revise."""
    made = Made()
    made.feed(window(number=0, lost=2))
    take = decoders(made.exporter)
    for topic, records in RECORDS.items():
        for record in records:
            take[topic](json.dumps(record).encode())
    return made


def refused(made: Made, topic: str, data: bytes) -> str:
    """Why it was; empty where it was taken, or left out and counted."""
    before = made.values("exporter_rows_total")
    try:
        decoders(made.exporter)[topic](data)
    except (ValueError, BadTelemetry) as error:
        return str(error)
    after = made.values("exporter_rows_total")
    assert sum(after.values()) == sum(before.values()) + 1
    return ""


def shown(made: Made, folder: Path) -> dict[str, Any]:
    """Everything that anybody may ask for, as they ask for it; the state."""
    families = {family.name for family in text_string_to_metric_families(made.text())}
    assert "inflight_path_sent_messages" in families
    data = json.dumps(snapshot(made.exporter), allow_nan=False, ensure_ascii=False).encode()
    state: dict[str, Any] = json.loads(data)
    json.dumps(changes(state, state), allow_nan=False)
    Console(file=io.StringIO(), width=80).print(screen(state, 80))
    file = StateFile(folder / "exporter.json", "inflight")
    file.save(made.exporter, {"inflight.windows": {0: 1}})
    again = Made()
    again.now_ns = made.now_ns
    assert file.load(again.exporter) == {"inflight.windows": {0: 1}}
    assert again.values("path_messages_total") == made.values("path_messages_total")
    return state


@settings(max_examples=200, deadline=None)
@given(place=st.sampled_from(PLACES), value=st.sampled_from(VALUES) | st.integers() | st.text() | st.floats())
@example(place=("router", 0, ("at_ns",)), value=10**400)
@example(place=("broker", 1, ("at_ns",)), value=10**400)
@example(place=("windows", 0, ("window_ns",)), value=1 << 61)
def test_any_value_in_any_place_is_refused_or_can_be_shown(
    tmp_path_factory: pytest.TempPathFactory, place: tuple[str, int, tuple[Any, ...]], value: Any
) -> None:
    """And an hour later the figures of that hour are there: nothing that came blocks what comes."""
    made = fed()
    folder = tmp_path_factory.getbasetemp()
    why = refused(made, place[0], changed(*place, value))
    assert len(why) < 600, "it is told, and not at the length that it came in"
    shown(made, folder)
    made.now_ns += 3_600 * SECOND
    sent = made.exporter.paths["east-west"].counters.counts["sent"]
    later = (made.now_ns - 10 * SECOND) // LENGTH * LENGTH
    made.feed(window() | {"window_start_ns": later})  # type: ignore[typeddict-item] # a row
    made.exporter.apply_live(live() | {"window_start_ns": later, "at_ns": later, "pending": 77})  # type: ignore[typeddict-item] # a row
    for told in (
        of_collector("", "mesh", {"kind": "router", "router": "Z", "up": True}),
        of_collector("Z", "router"),
    ):
        decoders(made.exporter)["router"](json.dumps(told | {"at_ns": made.now_ns}).encode())
    state = shown(made, folder)
    path = next(path for path in state["paths"] if path["name"] == "east-west")
    assert path["sent"] == sent + 50
    assert path["pending"] == 77
    assert [router["router"] for router in state["routers"] if router["mesh"] == "prod"] == ["Z"]
    made.now_ns += max(FORGET_NS, FORGET_TARGETS_NS) + 1
    state = shown(made, folder)
    assert [state[what] for what in ("routers", "edges", "brokers", "queues")] == [[], [], [], []]
    assert made.exporter.network.memory.used_bytes == 0


@pytest.mark.parametrize("value", [10**400, -(10**400), 1 << 81, True, 1.0, "1"])
def test_no_number_of_a_record_may_be_anything_else(value: Any) -> None:
    """Each number of each record is bounded where it is read, those that nobody shows as well."""
    numbers = 0
    take = decoders(Made().exporter)
    for topic, number, place in PLACES:
        inner: Any = RECORDS[topic][number]
        for key in place:
            inner = inner[key]
        in_row = "rows" in place  # of a collector, which may tell of one thing in another form than today
        if type(inner) is int and not (in_row and (type(value) is not int)):
            numbers += 1
            with pytest.raises((ValueError, BadTelemetry)):
                take[topic](changed(topic, number, place, value))
    assert numbers > 100
