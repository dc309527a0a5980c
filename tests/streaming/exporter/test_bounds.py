"""What the exporter keeps is bounded, whatever it is told; what it leaves out is counted."""

from __future__ import annotations

from typing import Any

import pytest
from made_counts import Made
from made_rows import LENGTH, SECOND, START, live, window

from collectors.contract.events import Event
from collectors.contract.telemetry import MAX_PARTS, Telemetry
from collectors.contract.window_rows import check_live, check_window
from streaming.exporter import core, network
from streaming.exporter.memory_bounds import Full, MemoryBound, weight
from streaming.exporter.page_data import snapshot

LINK = {"peer": "B", "direction": "out", "type": "inter-router", "deliveries_added": 50, "undelivered": 3}


@pytest.fixture
def made() -> Made:
    return Made()


def result(made: Made, topic: str, name: str) -> float | None:
    return made.value("exporter_rows_total", f'result="{name}",topic="{topic}"')


def of_router(made: Made, rows: list[dict[str, Any]], target: str = "A", **changes: Any) -> Telemetry:
    values = {
        "site": "s",
        "mesh": "prod",
        "entity": "link",
        "at_ns": made.now_ns,
        "interval_ns": SECOND,
        "poll": 7,
    }
    return Telemetry(target=target, rows=rows, **(values | changes))  # type: ignore[arg-type]  # by name


def test_a_room_knows_what_it_holds() -> None:
    """Taken anew is not taken twice, what is refused changes nothing, and what is given back is free."""
    room = MemoryBound(100)
    room.reserve("a", 60)
    room.reserve("a", 70)
    room.reserve("b", 30)
    for key, size in (("c", 1), ("a", 71)):
        with pytest.raises(Full):
            room.reserve(key, size)
    assert room.used_bytes == 100
    room.release(["a", "never taken"])
    assert room.used_bytes == 30
    assert weight({"a": ["xyz", 1, None]}) > weight({"a": ["xyz"]}) > weight("xyz") >= 3


def test_a_part_that_comes_again_is_in_place_of_itself(made: Made) -> None:
    """However often, and whatever is in it: a record may be repeated, and may be forged."""
    links = [LINK] * 500
    made.exporter.apply_router(of_router(made, links, part=1, parts=2))
    made.exporter.apply_router(of_router(made, links, part=2, parts=2))
    before = made.exporter.network.memory.used_bytes
    for _ in range(400):
        made.exporter.apply_router(of_router(made, links, part=2, parts=2))
    assert made.exporter.network.memory.used_bytes == before
    made.exporter.apply_router(of_router(made, [LINK], part=2, parts=2, poll=8))  # its first part was lost
    made.exporter.apply_router(
        of_router(made, [{"kind": "router", "router": "A", "up": True}], "", entity="mesh")
    )
    (router,) = snapshot(made.exporter)["routers"]
    assert router["undelivered"] == 3


def test_rows_of_collectors_are_bounded_together(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts and targets beyond the bound are left out and counted, and the first ones stay."""
    monkeypatch.setattr(network, "MAX_BYTES", 1 << 20)
    made.start()
    links = [LINK | {"peer": "x" * 500}] * 100
    for part in range(1, MAX_PARTS + 1):
        made.exporter.apply_router(of_router(made, links, part=part, parts=MAX_PARTS))
    for number in range(100):
        made.exporter.apply_broker(
            of_router(made, [{"queue": "q" * 500}] * 100, f"b{number}", entity="queue")
        )
    assert 0.8 * (1 << 20) < made.exporter.network.memory.used_bytes <= 1 << 20
    left_out = result(made, "router", "full") or 0, result(made, "broker", "full") or 0
    assert left_out[0] > 900
    assert left_out[1] > 90
    made.exporter.apply_router(of_router(made, [LINK], poll=8))  # the next poll is small, and has room
    assert result(made, "router", "full") == left_out[0]


def test_what_nobody_shows_is_not_kept(made: Made) -> None:
    """Entities, and fields of rows, that have no place on the page."""
    for entity in ("connection", "address", "allocator", "x" * 100):
        made.exporter.apply_router(of_router(made, [LINK], entity=entity))
    assert made.exporter.network.memory.used_bytes == 0
    made.exporter.apply_router(of_router(made, [LINK]))
    before = made.exporter.network.memory.used_bytes
    made.exporter.apply_router(of_router(made, [LINK | {"more": "x" * 4_000}]))
    assert made.exporter.network.memory.used_bytes == before


def test_targets_are_bounded(made: Made) -> None:
    """Those that nobody tells of any more make room."""
    for number in range(network.MAX_TARGETS + 5):
        made.exporter.apply_router(of_router(made, [LINK], f"r{number}"))
    assert result(made, "router", "full") == 5
    made.now_ns += network.FORGET_NS + 1
    made.exporter.apply_router(of_router(made, [LINK], "new"))
    assert result(made, "router", "full") == 5
    assert made.exporter.network.memory.used_bytes == weight([LINK])


def test_many_rows_of_one_name_are_told_once(made: Made) -> None:
    """A router, or a link between two: each row would cost a look at all the others."""
    rows = [
        {"kind": "router", "router": "A", "up": True},
        {"kind": "edge", "source": "A", "target": "B", "up": True},
    ]
    made.exporter.apply_router(of_router(made, rows * 5_000, "", entity="mesh"))
    made.exporter.apply_router(of_router(made, [LINK] * 5_000))
    state = snapshot(made.exporter)
    assert [len(state[what]) for what in ("routers", "edges")] == [1, 1]
    assert state["edges"][0]["undelivered"] == 15_000


@pytest.mark.parametrize("field", ["path", "mesh", "address", "source", "target", "rules"])
def test_no_name_is_as_long_as_a_record(field: str) -> None:
    """900 kB of a name are in each of a path's 67 series."""
    for row, check in ((dict(window()), check_window), (dict(live()), check_live)):
        if field in row:
            with pytest.raises(ValueError, match=f"{field} is not a text of at most"):
                check({**row, field: "x" * 900_000})


def test_metrics_are_as_large_as_the_room(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names as long as they may be, all to be escaped; beyond the bound only the config's paths count."""
    monkeypatch.setattr(core, "MAX_BYTES", 4 << 20)
    made.start()
    names = [f"{number:04}" + "\\" * 1_020 for number in range(100)]
    for name in names:
        made.feed(check_window(dict(window(name, mesh="\\" * 192, address="a"))))
    made.feed(window(lost=1))
    assert len(made.exporter.render()) < 5 << 20
    assert made.exporter.memory.used_bytes <= 4 << 20
    kept = len(made.exporter.paths) - 1
    assert 10 < kept < 40
    assert result(made, "windows", "full") == 100 - kept
    assert made.value("path_sent_messages_total") is not None
    assert made.exporter.paths["east-west"].counters.counts["sent"] == 51
    made.now_ns += core.FORGET_NS + 1
    made.exporter.shown()
    assert made.exporter.memory.used_bytes == 0


def test_a_paths_rows_are_kept_without_what_nobody_shows(made: Made) -> None:
    """A thousand members and ends are as many as two; how far the receivers are is told all the same."""
    end = {"role": "receiver", "name": "n" * 192, "run": "11" * 8, "link": "attached"}
    ends = [
        {**end, "name": f"{number}", "frontier_ns": START + number * SECOND} for number in range(12, 1_000)
    ]
    suspect: dict[str, Any] = {"suspect": 20, "oldest_pending_ns": START, "last_received_ns": START}
    made.exporter.apply_live(check_live(dict(live(ends=ends, **suspect))))
    made.feed(check_window(dict(window(members=[{"role": "sender", "name": "x" * 192, "run": "a"}] * 1_024))))
    path = made.exporter.paths["east-west"]
    assert path.live
    assert path.window
    assert (len(path.live["ends"]), len(path.window["members"])) == (1, 0)
    assert made.value("path_outage_seconds") == 12


def test_reasons_and_moves_that_are_unknown_are_no_counters(made: Made) -> None:
    """Each would be one more for ever; `row_checks` tells of them."""
    made.feed(window(number=-1))
    before = set(made.exporter.paths["east-west"].counters.counts)
    made.feed(window(lost=1, unsent={"whim": 1}))
    for number in range(50):
        made.feed(window(lost=1, revision=number + 1, moves={f"lost>{number}": 1}))
    assert set(made.exporter.paths["east-west"].counters.counts) == before
    assert made.value("exporter_accounting_errors_total") == 51


def test_revisions_are_of_windows_that_there_are(made: Made) -> None:
    """One that begins in the middle of another is of none, and is not remembered."""
    made.feed(window(number=0, lost=1), window(number=1))
    for offset in range(1, 100):
        made.feed(window(revision=1, lost=1, window_start_ns=START + offset * SECOND // 20))
    assert result(made, "windows", "old") == 99
    assert not made.exporter.paths["east-west"].counters.revised
    with pytest.raises(ValueError, match="window_ns is not a whole number from 1000000000"):
        check_window(dict(window(window_ns=1)))


def test_events_are_bounded(made: Made) -> None:
    """In number and in what they hold; the newest are kept."""
    for number in range(3_000):
        made.exporter.apply_event(Event(START + number, None, "fault", (), str(number)))
    assert [event.text for event in made.exporter.events] == [str(number) for number in range(1_000, 3_000)]
    for number in range(100):
        paths = tuple(f"{number} {other}" + "x" * 1_000 for other in range(1_000))
        made.exporter.apply_event(Event(START, START + SECOND, "maintenance", paths, "much"))
    assert sum(len(event.paths) for event in made.exporter.events) <= 4_096
    assert made.exporter.events[-1].paths == paths


@pytest.mark.parametrize("ahead_ns", [LENGTH, 3_600 * SECOND, 1 << 61])
def test_the_future_is_left_out_and_does_not_hold_up_the_present(made: Made, ahead_ns: int) -> None:
    """Clocks may differ by ten minutes; beyond, it would stand in the way of all that comes until then."""
    late = made.now_ns + 600 * SECOND + ahead_ns
    made.feed(window(number=0), window() | {"window_start_ns": late - LENGTH + 1})  # type: ignore[arg-type]  # a row
    made.exporter.apply_live(live() | {"at_ns": late})  # type: ignore[arg-type]  # a row
    made.exporter.apply_router(of_router(made, [LINK], at_ns=late))
    made.exporter.apply_broker(of_router(made, [LINK], at_ns=late, entity="queue"))
    assert [result(made, topic, "future") for topic in ("windows", "live", "router", "broker")] == [
        1,
        1,
        1,
        1,
    ]
    made.feed(window(number=1))
    assert made.value("path_sent_messages_total") == 100
    assert made.exporter.network.memory.used_bytes == 0


def test_what_is_left_out_is_said_once_a_minute(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    """Not for each of a million rows."""
    for number in range(50):
        made.exporter.apply_router(of_router(made, [LINK], f"r{number}", at_ns=made.now_ns + 3_600 * SECOND))
    assert sum("after this machine's clock" in record.message for record in caplog.records) == 1


@pytest.mark.parametrize("entity", ["path_address", "path_link"])
def test_what_is_told_for_attribution_is_not_kept(made: Made, entity: str) -> None:
    """Nobody shows it: neither its rows nor their router take room."""
    made.exporter.apply_router(of_router(made, [{"key": "k" * 1_000}] * 500, "elsewhere", entity=entity))
    assert made.exporter.network.memory.used_bytes == 0
    assert snapshot(made.exporter)["routers"] == []
    assert not result(made, "router", "full")
