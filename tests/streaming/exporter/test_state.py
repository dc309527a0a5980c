"""The exporter's state: whatever is read again, saved, restarted or crashed, it counts the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_counts import Made
from made_rows import LENGTH, SECOND, START, live, window

from collectors.config.model import Kafka
from collectors.contract.events import Event
from collectors.contract.window_rows import WindowRow
from streaming.exporter import core
from streaming.exporter.consumer import Consumer
from streaming.exporter.state_file import DamagedState, StateFile


@settings(max_examples=60)
@given(
    lost=st.lists(st.integers(0, 4), min_size=1, max_size=8),
    steps_taken=st.lists(
        st.tuples(st.sampled_from(["on", "back", "restart", "crash"]), st.integers(1, 5)), max_size=12
    ),
    data=st.data(),
)
def test_any_restart_and_replay_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    lost: list[int],
    steps_taken: list[tuple[str, int]],
    data: st.DataObject,
) -> None:
    """Whatever is read again, saved, restarted or crashed: the counters are those of the log read once."""
    log: list[WindowRow] = []
    for number, gone in enumerate(lost):
        log.append(window(number=number, lost=gone))
        back = data.draw(st.integers(0, number), label=f"revises after {number}")
        revision = 1 + sum(
            r["window_start_ns"] == log[-1]["window_start_ns"] - back * LENGTH for r in log[:-1]
        )
        if lost[number - back] and revision == 1:
            received = [2_000_000] * (50 + lost[number - back])
            moves = {"lost>received": lost[number - back]}
            log.append(window(number=number - back, values_ns=received, revision=1, moves=moves))
    state = StateFile(tmp_path_factory.mktemp("state") / "exporter.json", "inflight")
    made = Made()
    read = saved = 0
    state.save(made.exporter, {})
    for what, count in [*steps_taken, ("on", len(log))]:
        if what == "on":
            made.feed(*log[read : read + count])
            read = min(len(log), read + count)
        elif what == "back":
            read = max(0, read - count)
        else:
            if what == "restart":
                state.save(made.exporter, {"inflight.windows": {0: read}})
                saved = read
            made.start()
            state.load(made.exporter)
            read = saved
    made.feed(*log[read:])
    revised = {row["window_start_ns"]: row["moves"]["lost>received"] for row in log if row["revision"]}
    assert made.value("path_sent_messages_total") == 50 * len(lost) + sum(lost)
    assert made.value("path_messages_total", 'class="lost"') == sum(lost)
    assert made.value("path_reclassified_messages_total", 'from="lost",to="received"') == sum(
        revised.values()
    )
    assert made.value("path_response_latency_seconds_count") == 50 * len(lost)
    assert made.value("path_slo_good_messages_total", 'slo="delivery"') == 50 * len(lost)
    assert made.value("exporter_accounting_errors_total") == 0


def test_state_holds_all_that_is_shown(tmp_path: Path) -> None:
    """After a restart the families of a path read as before, gauges as well."""
    made = Made()
    made.feed(window(number=0, lost=1), window(number=1))
    made.exporter.apply_live(live(number=3))
    before = made.exporter.render()
    state = StateFile(tmp_path / "exporter.json", "inflight")
    state.save(made.exporter, {"inflight.windows": {3: 17}})
    made.start()
    assert state.load(made.exporter) == {"inflight.windows": {3: 17}}
    assert made.exporter.render() == before
    assert json.loads((tmp_path / "exporter.json").read_text())["v"] == 1
    assert [file.name for file in tmp_path.iterdir()] == ["exporter.json"]


def test_what_an_event_did_outlives_a_restart(tmp_path: Path) -> None:
    """When it was seen is not forgotten, nor seen anew in what is read again of live rows."""
    made = Made()
    made.now_ns = START + 63 * SECOND
    event = Event(START + 61 * SECOND, START + 64 * SECOND, "fault", (), "cut", "cut", "A--B")
    made.exporter.apply_live(live(number=12, at_ns=START + 62 * SECOND, suspect=2))
    made.feed(window(number=12, lost=2), window(number=13))
    made.exporter.apply_event(event)
    names = ("detected_seconds", "recovered_seconds", "touched_paths", "lost_messages")
    before = [list(made.values(f"event_{name}").values()) for name in names]
    assert before == [[2.0], [1.0], [1], [2]]
    state = StateFile(tmp_path / "exporter.json", "inflight")
    state.save(made.exporter, {})
    made.start()
    made.now_ns += 60 * SECOND
    state.load(made.exporter)
    made.exporter.apply_event(event)
    made.exporter.apply_live(live(number=12, at_ns=START + 62 * SECOND, suspect=2))
    assert [list(made.values(f"event_{name}").values()) for name in names] == before


def test_a_state_of_before_events_were_kept_is_taken(tmp_path: Path) -> None:
    """And one whose trouble is none is put aside as any other damage."""
    made = Made()
    made.feed(window(number=0))
    state = StateFile(tmp_path / "exporter.json", "inflight")
    state.save(made.exporter, {})
    value = json.loads(state.file.read_text())
    assert value.pop("trouble")
    state.file.write_text(json.dumps(value))
    made.start()
    assert state.load(made.exporter) == {}
    assert made.value("path_sent_messages_total") == 50
    for trouble in (7, {"a": 5}, {"a": [[1, 2], [], []]}, {"a": [[0, 0, 0, False], [[1]], []]}):
        state.file.write_text(json.dumps({**value, "trouble": trouble}))
        made.start()
        with pytest.raises(DamagedState):
            state.load(made.exporter)
        assert made.exporter.effects.paths == {}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"v": 1, "paths": 7}', '{"v": 1, "prefix": "other", "paths": {}, "offsets": {}}']
)
def test_a_damaged_state_is_put_aside(tmp_path: Path, text: str) -> None:
    """A state that cannot be read, or is of other topics, is kept beside, and counting starts from 0."""
    made = Made()
    made.feed(window(number=0))
    file = tmp_path / "exporter.json"
    file.write_text(text)
    made.start()
    kafka = Kafka(servers=("127.0.0.1:1",))
    Consumer(made.exporter, kafka, StateFile(file, "inflight")).load()
    assert (tmp_path / "exporter.damaged").read_text() == text
    assert not file.exists()
    assert made.value("path_sent_messages_total") == 0


def test_a_state_that_breaks_off_fills_nothing(tmp_path: Path) -> None:
    """Where one path of many cannot be read, none of them is taken."""
    made = Made()
    made.feed(window(number=0), window("other"))
    state = StateFile(tmp_path / "exporter.json", "inflight")
    state.save(made.exporter, {})
    value = json.loads(state.file.read_text())
    del value["paths"]["other"]["counts"]
    state.file.write_text(json.dumps(value))
    made.start()
    with pytest.raises(DamagedState, match="holds no state"):
        state.load(made.exporter)
    assert made.value("path_sent_messages_total") == 0
    assert list(made.exporter.paths) == ["east-west"]


def test_what_the_room_does_not_hold_after_a_restart_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths that others made up may have grown since there was room for them: it starts all the same."""
    made = Made()
    for name in ("made-up", "other"):
        made.feed(window(name))
    monkeypatch.setattr(core, "MAX_BYTES", made.exporter.memory.used_bytes)
    made.start()
    for name in ("made-up", "other", "east-west"):
        made.feed(window(name, lost=1), window(name, revision=1, moves={"lost>received": 1}))
    state = StateFile(tmp_path / "exporter.json", "inflight")
    state.save(made.exporter, {"inflight.windows": {3: 17}})
    made.start()
    assert state.load(made.exporter) == {"inflight.windows": {3: 17}}
    assert made.exporter.paths.keys() == {"made-up", "east-west"}
    assert made.exporter.paths["east-west"].counters.counts["sent"] == 51
    assert made.exporter.memory.used_bytes <= core.MAX_BYTES


def test_the_state_is_for_its_user_alone(tmp_path: Path) -> None:
    """Also where an earlier version, or a save that was killed, left files that all can read."""
    folder = tmp_path / "state"
    file = folder / "exporter.json"
    state = StateFile(file, "inflight")
    state.try_out()
    assert [*folder.iterdir()] == []
    file.touch(mode=0o644)
    file.with_suffix(".part").touch(mode=0o644)
    state.save(Made().exporter, {})
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [(path.name, path.stat().st_mode & 0o777) for path in folder.iterdir()] == [
        ("exporter.json", 0o600)
    ]


def test_a_state_that_cannot_be_saved_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """And makes the exporter not ready, until it can; what it counts is shown all the while."""
    caplog.set_level("WARNING", "inflight")
    file = tmp_path / "state" / "exporter.json"
    consumer = Consumer(Made().exporter, Kafka(servers=("127.0.0.1:1",)), StateFile(file, "inflight"))
    StateFile(file, "inflight").save(Made().exporter, {})
    consumer.load()
    file.unlink()
    file.parent.rmdir()
    file.parent.touch()  # a file in the folder's place
    for _ in range(3):
        consumer.save()
    consumer._why_not = None  # noqa: SLF001 -- as if it had read all that there is
    text = f"the state cannot be saved to {file}: Not a directory"
    assert consumer.not_ready() == text
    assert not consumer.behind()
    assert [record.message for record in caplog.records] == [text]
    file.parent.unlink()
    consumer.save()
    assert consumer.not_ready() is None
    assert file.exists()
