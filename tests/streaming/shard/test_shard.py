"""A shard gives the rows that the accounting gives, however batches, restarts and shards fall."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import EPOCH, Flow
from writing import Path, ns

from collectors.config.paths import Rules
from collectors.contract.record_codec import encode
from collectors.contract.records import SECOND_NS, Header
from streaming.accounting import Accountant, BadState
from streaming.shard import log as shard_log
from streaming.shard.outputs import Input, Output
from streaming.shard.shard import LogEntry, Shard, ShardRules, Snapshot

RULES = Rules(5 * SECOND_NS, 10 * SECOND_NS, 60 * SECOND_NS, 900 * SECOND_NS)
HOUR_NS = 3600 * SECOND_NS


def topic(seconds: int, *paths: str) -> list[Input]:
    """The records of paths that lose a message now and then, second by second."""
    flows = [Flow(path, 20, lose_every=7 + place) for place, path in enumerate(paths)]
    found: list[Input] = []
    for second in range(seconds):
        for flow in flows:
            for value in flow.second(second):
                at_ns = (EPOCH + second + 1) * SECOND_NS
                found.append(Input(0, len(found), at_ns, flow.path.encode(), value))
    return found


@dataclass
class Store:
    """What the state store holds of a shard."""

    header: bytes | None = None
    windows: dict[int, bytes] = field(default_factory=dict)
    log: list[bytes] = field(default_factory=list)
    snapshots: int = 0

    def take(self, changes: Snapshot | LogEntry) -> None:
        if isinstance(changes, LogEntry):
            self.log.append(changes.records)
            return
        self.snapshots += 1
        self.header = changes.header
        self.log.clear()
        for start, blob in changes.windows.items():
            if blob is None:
                del self.windows[start]
            else:
                self.windows[start] = blob

    def restarted(self, log_batches: int, rules: Rules = RULES) -> Shard:
        shard = Shard(ShardRules(rules), self.header, log_batches)
        shard.replay(self.windows.get, self.log)
        return shard


def run(shard: Shard, store: Store, records: list[Input]) -> list[Output]:
    """One batch."""
    found = shard.begin(store.windows.get)
    found += [output for record in records for output in shard.apply(record)]
    ending, changes = shard.finish()
    store.take(changes)
    assert shard.log_length == len(store.log)
    return [*found, *ending]


TOPIC = topic(40, "a", "b", "c")
_direct = Accountant(lambda _: RULES)
EXPECTED = [row for one in TOPIC for row in _direct.feed(one.value, one.append_ns).rows]


def test_the_example_has_final_windows() -> None:
    """Otherwise what follows would compare nothing with nothing."""
    assert len(EXPECTED) == 3 * 6


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 80), st.booleans()), min_size=1, max_size=12), st.integers(0, 5))
def test_any_split_and_any_restart_gives_the_same_rows(
    batches: list[tuple[int, bool]], log_batches: int
) -> None:
    """A restart goes on from the newest snapshot and the log since, however often there are snapshots.

    Of paths that are in no snapshot yet the rows of the log are told again, which readers know as repeats.
    """
    store = Store()
    shard = store.restarted(log_batches)
    found: list[Output] = []
    at = 0
    for size, restart in [*batches, (len(TOPIC), False)]:
        found += run(shard, store, TOPIC[at : at + size])
        at += size
        if restart:
            shard = store.restarted(log_batches)
    rows = [output.value for output in found if output.kind == "windows"]
    assert list(dict.fromkeys(rows)) == EXPECTED


def test_a_snapshot_comes_after_so_many_batches_or_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between snapshots the state store gets the records alone; live rows and counts are as ever."""
    store, every = Store(), Store()
    patient, eager = store.restarted(3), every.restarted(0)
    for at in range(0, 80, 10):
        batch = TOPIC[at : at + 10]
        assert sorted(run(patient, store, batch), key=str) == sorted(run(eager, every, batch), key=str)
    assert (store.snapshots, every.snapshots) == (2, 8)
    monkeypatch.setattr("streaming.shard.shard.LOG_BYTES", 1)
    run(patient, store, TOPIC[80:90])
    assert store.snapshots == 3


def test_a_snapshot_waits_for_a_batch_in_which_no_window_ends() -> None:
    """Each takes long by itself."""
    store, both = Store(), []
    shard = store.restarted(4)
    for at in range(0, len(TOPIC), 6):
        before = store.snapshots
        found = run(shard, store, TOPIC[at : at + 6])
        both.append((store.snapshots > before, any(o.kind == "windows" for o in found)))
    assert (True, True) not in both
    assert both.count((True, False)) >= len(both) // 8


@pytest.mark.parametrize("damaged", [b"\0", shard_log.encode(TOPIC[:2])[:-1]])
def test_a_damaged_log_is_told(damaged: bytes) -> None:
    """With the way out, as damaged state is."""
    with pytest.raises(BadState, match="new checkpoint"):
        Shard(ShardRules(RULES)).replay(lambda _: None, [damaged])


def test_bad_records_are_put_aside_with_their_reason() -> None:
    """They stop nothing, and the letter says where the whole record stands."""
    value = TOPIC[0].value
    shard = Shard(ShardRules(RULES))
    found = run(
        shard,
        Store(),
        [
            Input(3, 7, EPOCH * SECOND_NS, b"a", b"nonsense"),
            Input(3, 8, EPOCH * SECOND_NS, b"other", value),
            Input(3, 9, EPOCH * SECOND_NS - 2 * HOUR_NS, b"a", value),
            Input(3, 10, EPOCH * SECOND_NS, b"a", value),
        ],
    )
    letters = [json.loads(o.value or b"") for o in found if o.kind == "dead-letters"]
    assert [(each["reason"], each["partition"], each["offset"]) for each in letters] == [
        ("malformed", 3, 7),
        ("alien", 3, 8),
        ("future", 3, 9),
    ]
    assert {o.counter: o.amount for o in found if o.counter} == {
        "malformed": 1,
        "alien": 1,
        "future": 1,
        "samples": 18,
        "newest_ms": EPOCH * 1000,
    }
    assert sum(o.kind == "live" for o in found) == 1


def test_a_path_silent_for_the_retention_begins_anew() -> None:
    """Its state leaves the header, and its windows leave the store."""
    store = Store()
    shard = store.restarted(0)
    run(shard, store, TOPIC)
    later = EPOCH * SECOND_NS + 26 * HOUR_NS
    busy = Flow("busy", 5, start_second=EPOCH + 26 * 3600)
    run(shard, store, [Input(0, 10_000, later, b"busy", value) for value in busy.second(0)])
    assert b'"a"' not in (shard.header or b"")
    assert len(store.windows) == 1


def test_a_path_that_begins_anew_within_a_batch_counts_what_came_before() -> None:
    """What it had counted in earlier batches is not taken off again."""
    store = Store()
    shard = store.restarted(0)
    flow = Flow("a", 5)
    later_ns = EPOCH * SECOND_NS + 26 * HOUR_NS
    anew = Flow("a", 5, seed=1, start_second=EPOCH + 26 * 3600)
    run(shard, store, [Input(0, n, EPOCH * SECOND_NS, b"a", v) for n, v in enumerate(flow.records(4))])
    batch = [Input(0, 8 + n, EPOCH * SECOND_NS, b"a", v) for n, v in enumerate(flow.second(4))]
    batch += [Input(0, 10 + n, later_ns, b"a", v) for n, v in enumerate(anew.second(0))]
    found = {one.counter: one.amount for one in run(shard, store, batch) if one.counter}
    assert found["samples"] == 10


@pytest.mark.parametrize("path", ["", "x" * 1000])
def test_a_path_of_any_name_has_a_place(path: str) -> None:
    """Only the empty one is none."""
    value = next(iter(Flow(path, 5).second(0)))
    found = run(Shard(ShardRules(RULES)), Store(), [Input(0, 0, EPOCH * SECOND_NS, path.encode(), value)])
    assert [o.kind for o in found if o.kind != "count"] == (["live"] if path else ["dead-letters"])


def test_a_shard_has_a_bound_of_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that someone made up are put aside; the paths that are there go on."""
    monkeypatch.setattr("streaming.shard.shard.MAX_PATHS", 2)
    shard = Shard(ShardRules(RULES))
    found = run(shard, Store(), topic(1, "a", "b", "c", "d") + topic(2, "a")[2:])
    assert [o.amount for o in found if o.counter == "paths"] == [4]
    assert [o.key for o in found if o.kind == "dead-letters"] == [b"c", b"c", b"d", b"d"]
    assert sorted(o.key or b"" for o in found if o.kind == "live") == [b"a", b"b"]


def as_input(header: Header, seconds: float) -> Input:
    return Input(0, 0, ns(seconds), header.path.encode("utf-8", "replace"), encode(header))


@pytest.mark.parametrize("change", [{"mesh": "\ud800"}, {"name": "\ud800"}, {"routes": {"\udfff": 1}}])
def test_half_a_surrogate_pair_is_a_dead_letter(change: dict[str, object]) -> None:
    """JSON can hold it, and no row could."""
    header = Path().end("sender").header("alive", 1.0)._replace(**change)
    found = run(Shard(ShardRules(RULES)), Store(), [as_input(header, 1.0)])
    assert [o.kind for o in found if o.kind != "count"] == ["dead-letters"]
    assert {o.counter for o in found if o.counter} == {"malformed", "newest_ms"}


def rows_of(found: list[Output], rules: Rules) -> list[tuple[int, int]]:
    """Start in seconds and revision of the rows that were made by these rules."""
    rows = [json.loads(o.value or b"") for o in found if o.kind == "windows"]
    return [
        (row["window_start_ns"] // SECOND_NS - EPOCH, row["revision"])
        for row in rows
        if row["rules"] == rules.hash()
    ]


CHANGED = replace(RULES, settle_ns=5 * SECOND_NS)
LONG = topic(230, "a")


@pytest.mark.parametrize("log_batches", [0, 16])
def test_other_rules_begin_midway_and_stay_without_holes(log_batches: int) -> None:
    """Also where the change finds a log, or windows of the same starts that are still open, and after it."""
    store = Store()
    shard = store.restarted(log_batches)
    found: list[Output] = []
    for at in range(0, 200, 20):
        found += run(shard, store, LONG[at : at + 20])
    shard = store.restarted(log_batches, CHANGED)
    for at in range(200, 460, 10):
        found += run(shard, store, LONG[at : at + 10])
        shard = store.restarted(log_batches, CHANGED)
    first = list(dict.fromkeys(rows_of(found, RULES)))
    assert first == [(start, 0) for start in range(0, first[-1][0] + 5, 5)]
    then = list(dict.fromkeys(rows_of(found, CHANGED)))
    assert then == [(start, 0) for start in range(then[0][0], 225, 5)]
    assert len(then) > 5
