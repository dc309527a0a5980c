"""Records of five topics: their order, what is put aside and why, and that a log gives the same again."""

from __future__ import annotations

import json
from typing import Any

import made_rows
import pytest
from counting_attribution import NOW, PLACES, CountingAttribution, Watched, event, poll

from collectors.contract import events, window_rows
from streaming.attribution.groups import Groups
from streaming.attribution.intake import HORIZON_NS, Intake, Record, encode_log


def record(topic: str, value: bytes, *, offset: int = 0, at_ns: int = NOW, key: str = "one") -> Record:
    return Record(at_ns, topic, 0, offset, key.encode(), value)


def window(offset: int = 0, *, at_ns: int = NOW, **fields: Any) -> Record:
    row = made_rows.window(**{"path": "one", "mesh": "east"} | fields)
    return record("windows", window_rows.encode(row), offset=offset, at_ns=at_ns, key=row["path"])


def live(offset: int = 0, *, path: str = "one", **fields: Any) -> Record:
    ends = [{**end, "peer": ""} for end in made_rows.live()["ends"]]
    row = made_rows.live(**{"path": path, "mesh": "east", "ends": ends} | fields)
    return record("live", window_rows.encode(row), offset=offset, key=path)


def router(offset: int = 0, *, at_ns: int = NOW, **fields: Any) -> Record:
    return record("router", poll(**{"mesh": "east"} | fields).encode(), offset=offset, at_ns=at_ns, key="any")


def test_records_are_fed_by_time_then_topic_then_place() -> None:
    """In whatever order Spark gives the partitions."""
    found = Watched()
    first, second = router(5, target="A"), router(4, target="B", at_ns=NOW + 1)
    told = record("events", events.encode(event()), at_ns=NOW + 1)
    batch = [second, window(9, at_ns=NOW + 2), told, first, router(2, target="C", at_ns=NOW + 1)]
    taken = Intake(found).take(batch)
    assert found.fed("one") == ["router A", "event kill", "router C", "router B", "window one"]
    assert taken.refusals == []
    assert len(taken.used) == 5


def test_polls_of_other_entities_are_left_out() -> None:
    """They are most of what collectors tell; a mesh as a whole is none of them."""
    found = Watched()
    mesh = router(3, target="", entity="mesh")
    batch = [router(1, entity="allocator"), router(2, entity="path_link", target="B"), mesh]
    taken = Intake(found).take(batch)
    assert found.fed("one") == ["router B", "router "]
    assert [one.offset for one in taken.used] == [2, 3]
    assert taken.refusals == []


def test_of_live_rows_the_last_of_a_path_is_read() -> None:
    """What came before it in the batch says nothing more."""
    found = Watched()
    batch = [live(1, received=1), live(3, received=3), live(2, received=2), live(0, path="other", received=7)]
    taken = Intake(found).take(batch)
    assert found.fed("one") == ["live other 7", "live one 3"]
    assert [one.offset for one in taken.used] == [0, 3]


JUNK = b"junk"
BAD = [
    (record("windows", JUNK), "windows", "Expecting value"),
    (record("windows", b'{"v":1}'), "windows", "row"),
    (record("windows", b'{"v":2}'), "windows", "the row has version 2"),
    (record("live", JUNK), "live", "Expecting value"),
    (record("live", b"\xff"), "live", "codec can't decode"),
    (record("router", JUNK), "router", "not JSON"),
    (record("router", b'{"v":9}'), "router", "not of format 2"),
    (router(target="unreadable"), "router", "no such row"),
    (record("broker", b"[]"), "broker", "not of format 2"),
    (record("events", json.dumps({"v": 1, "at_ns": "soon"}).encode()), "events", "event"),
    (router(target="failing"), "failed", "ZeroDivisionError: made by a test"),
    (window()._replace(key=b"another"), "alien", "the row is of path 'one' and its key is another"),
    (live()._replace(key=b""), "alien", "the row is of path 'one'"),
]


@pytest.mark.parametrize(("bad", "reason", "said"), BAD)
def test_what_cannot_be_used_is_put_aside_with_its_reason(bad: Record, reason: str, said: str) -> None:
    """It is not logged, and what else is in the batch is used."""
    found = Watched()
    taken = Intake(found).take([bad, router(99, target="good")])
    ((put_aside, why, detail),) = taken.refusals
    assert (put_aside, why) == (bad, reason)
    assert said in detail
    assert [one.offset for one in taken.used] == [99]
    assert found.fed("one") == ["router good"]


def test_meshes_without_end_are_put_aside() -> None:
    """Those that are known go on."""
    batch = [router(number, mesh=f"made-up-{number:03}") for number in range(258)]
    taken = Intake(Watched()).take(batch)
    assert [(each.record.offset, each.reason) for each in taken.refusals] == [
        (256, "groups"),
        (257, "groups"),
    ]


def test_windows_of_long_ago_are_not_looked_at() -> None:
    """As a job that is rebuilt writes them: they are counted."""
    length_ns = made_rows.LENGTH
    late = window(0, at_ns=NOW + HORIZON_NS + 1)
    just = window(1, number=1, at_ns=NOW + length_ns + HORIZON_NS)
    taken = Intake(Watched()).take([late, just])
    assert taken.used == [just]
    assert taken.ignored == {"beyond_horizon": 1}


def test_a_row_that_is_too_long_for_its_topic_is_put_aside() -> None:
    """Kafka would refuse it, and with it the batch, for ever."""

    class Long(CountingAttribution):
        def turn(self, now_ns: int) -> Any:
            rows = super().turn(now_ns)
            return [{**row, "sentence": "x" * 2_000_000} for row in rows]

    taken = Intake(Groups(PLACES, Long)).take([window(lost=1)])
    assert taken.rows == []
    assert [each.reason for each in taken.refusals] == ["oversized"]


def test_a_log_gives_the_same_again() -> None:
    """Batch by batch: what comes next finds what it would have found."""
    batches = [[router(0), live(0), window(0)], [window(1, number=1), router(1)], [router(2)]]
    last = [window(9, number=2, lost=3)]
    whole = Intake(Groups(PLACES, CountingAttribution))
    logged = [encode_log(whole.take(batch).used) for batch in batches]
    again = Intake(Groups(PLACES, CountingAttribution))
    for entry in logged:
        again.replay(entry)
    rows = whole.take(last).rows
    assert [(key, json.loads(row)["sent"], json.loads(row)["lost"]) for key, row in rows] == [(b"one", 7, 3)]
    assert again.take(last).rows == rows


@pytest.mark.parametrize("log", [b"\x09" * 40, b"\x00", encode_log([router()])[:-1]])
def test_a_damaged_log_lets_the_groups_begin_anew(log: bytes) -> None:
    """And is told with the next batch."""
    intake = Intake(Groups(PLACES, CountingAttribution))
    intake.replay(log)
    told = intake.take([]).begun_anew
    assert [each.group for each in told] == ["east", "north"]
    assert "the log of records is" in told[0].why
