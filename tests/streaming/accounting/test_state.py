"""State put away and taken up again: compact, versioned, and only what changed."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from by_hand import ledger_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from writing import RULES, T0, Path, finish, ns, pair

from collectors.contract.record_codec import encode
from collectors.contract.records import SECOND_NS
from collectors.contract.window_rows import decode_window
from streaming.accounting import Accountant, BadState, PathState, state_codec
from streaming.accounting.state_codec import VERSION


def put_away(path: Path, kept: dict[int, bytes]) -> bytes:
    """As the job does it after a batch."""
    kept.update(path.state.dirty_windows())
    for start in path.state.forgotten_windows():
        kept.pop(start, None)
    return path.state.dump_header()


def taken_up(path: Path, kept: dict[int, bytes]) -> dict[int, bytes]:
    """The path goes on with state that was put away and taken up again; which windows it read."""
    header, read = put_away(path, kept), {}

    def load(start: int) -> bytes | None:
        read[start] = kept.get(start)
        return kept.get(start)

    path.state = PathState.load("p", RULES, header, load)
    return read


def test_a_final_window_is_written_once_and_read_only_to_revise_it() -> None:
    """A quiet hour of final windows costs nothing."""
    path, sender, receiver = pair()
    kept: dict[int, bytes] = {}
    sender.ledger(0, [(0, 2, "accepted")], 1.0)
    finish(sender, receiver, until=31.0)
    read = taken_up(path, kept)
    assert set(kept) == {ns(0), ns(5), ns(10), ns(15)}
    assert read == {}
    assert path.state.dirty_windows() == {}
    receiver.received(sender, 0, [1], 31.0)
    assert set(read) == {ns(0)}
    finish(sender, receiver, until=32.0)
    assert set(path.state.dirty_windows()) == {ns(0)}
    assert path.row(0)["moves"] == {"lost>received": 1}


def test_windows_beyond_the_horizon_are_to_be_forgotten_once() -> None:
    """The job deletes them then."""
    path, sender, receiver = pair(Path(replace(RULES, horizon_ns=20 * SECOND_NS)))
    for until in (15.0, 30.0, 45.0, 60.0):
        finish(sender, receiver, until=until)
    assert path.state.forgotten_windows() == [ns(0), ns(5), ns(10), ns(15), ns(20), ns(25)]
    assert path.state.forgotten_windows() == []
    assert set(path.state.dirty_windows()) == {ns(30), ns(35), ns(40), ns(45)}


@pytest.mark.parametrize("step", [1, -1])
def test_state_of_another_version_is_refused_and_says_what_to_do(step: int) -> None:
    """A program cannot know what another one meant."""
    path, _, _ = pair()
    header = bytearray(path.state.dump_header())
    header[2] = VERSION + step
    with pytest.raises(
        BadState, match=rf"version {VERSION + step}, this program knows {VERSION}: go on with"
    ):
        PathState.load("p", RULES, bytes(header), {}.get)


@pytest.mark.parametrize(
    "damage", [b"", b"IF", b"XX\x02\x00\x02\x00\x00\x00{}", b"IF\x02\x00\x09\x00\x00\x00{}"]
)
def test_damaged_state_is_refused(damage: bytes) -> None:
    """And not taken for an empty one."""
    with pytest.raises(BadState):
        PathState.load("p", RULES, damage, {}.get)


def test_a_missing_window_is_told() -> None:
    """State that lost a part would give wrong rows."""
    path, sender, _ = pair()
    sender.ledger(0, [(0, 2, "accepted")], 1.0)
    with pytest.raises(BadState, match="is missing"):
        PathState.load("p", RULES, path.state.dump_header(), {}.get)


def test_state_of_other_rules_hands_on_its_counters_and_is_joined_midway() -> None:
    """A longer settle, from one day to the next: no row is made by half of each."""
    path, sender, receiver = pair()
    kept: dict[int, bytes] = {}
    receiver.number = 0
    receiver.alive(0.0)
    finish(sender, receiver, until=31.0)
    header = put_away(path, kept)
    changed = replace(RULES, settle_ns=12 * SECOND_NS)
    path.state = PathState.load("p", changed, header, kept.get)
    assert path.state.counters["repeats"] == 1
    assert set(path.state.forgotten_windows()) == set(kept)
    path.rows.clear()
    finish(sender, receiver, until=32.0)
    finish(sender, receiver, until=120.0)
    assert path.rows[0]["window_start_ns"] == ns(95)
    assert path.rows[0]["rules"] == changed.hash()


def test_kept_in_memory_final_windows_are_squeezed_and_can_still_be_revised() -> None:
    """As `inflight run` keeps them."""
    written = Path()  # never fed: its ends only write
    sender, receiver = written.end("sender"), written.end("receiver")
    accountant = Accountant(lambda _: RULES)

    def feed(*records: bytes) -> list[int]:
        fed = [accountant.feed(record, ns(60)) for record in records]
        accountant.tidy()
        return [decode_window(row)["revision"] for each in fed for row in each.rows]

    def both(until: float) -> list[bytes]:
        return [encode(end.header("alive", until)) for end in (sender, receiver)]

    assert feed(*both(1.0), *both(16.0)) == [0]
    late = sender.header("ledger", 17.0, stream=sender.run, second=T0, due=4)
    assert feed(encode(late, ledger_rows([(0, 4, "accepted")])), *both(18.0)) == [1]
    assert [row["path"] for row in accountant.live()] == ["p"]
    assert accountant.forget(ns(61)) == ["p"]
    assert accountant.live() == []


@settings(max_examples=300)
@given(st.integers(0, 1 << 32))
def test_whatever_is_damaged_in_state_says_the_way_out(seed: int) -> None:
    """It is taken up, or refused with what to do; it ends in no other error."""
    chance = random.Random(seed)  # noqa: S311 -- chance that can be repeated
    blobs = [HEADER, *KEPT.values()]
    place = chance.randrange(len(blobs))
    data = bytearray(blobs[place])
    for _ in range(chance.choice((1, 2, 8))):
        data[chance.randrange(len(data))] = chance.randrange(256)
    windows = {start: bytes(data) if place == n else blob for n, (start, blob) in enumerate(KEPT.items(), 1)}
    try:
        state = PathState.load("p", RULES, bytes(data) if place == 0 else HEADER, windows.get)
        for blob in windows.values():
            state_codec.load_window(blob)
    except BadState as error:
        assert "new checkpoint" in str(error)  # noqa: PT017 -- either outcome is right, a third is not
    else:
        assert state.name == "p"


def _example() -> tuple[bytes, dict[int, bytes]]:
    path, sender, receiver = pair()
    for second in range(20):
        receiver.received(sender, second, [2 * second], second + 1.0)
        sender.ledger(second, [(2 * second, 2, "accepted")], second + 1.0)
    kept: dict[int, bytes] = {}
    return put_away(path, kept), kept


HEADER, KEPT = _example()


def test_state_kept_before_ends_told_their_peers_is_read() -> None:
    """An end had 21 values then; it goes on from them, and its rows are the same."""
    path, sender, receiver = pair()
    other, *ends = pair()
    for one, another in ((sender, ends[0]), (receiver, ends[1])):
        one.alive(1.0, peer="QDR.A")
        another.alive(1.0)
    kept: dict[int, bytes] = {}
    header = put_away(path, kept)
    meta, place = state_codec.unpack(header)

    def older(value: object) -> object:
        if isinstance(value, list) and value[:1] in (["sender"], ["receiver"]) and value[-1] == "QDR.A":
            assert len(value) == 22
            return value[:-1]
        if isinstance(value, list):
            return [older(item) for item in value]
        return {key: older(item) for key, item in value.items()} if isinstance(value, dict) else value

    without = state_codec.pack(older(meta), header[place:])
    assert b"QDR.A" not in without
    path.state = PathState.load("p", RULES, without, kept.get)
    for writers in ((sender, receiver), ends):
        writers[0].ledger(0, [(0, 2, "accepted")], 2.0)
        writers[1].received(writers[0], 0, [0, 1], 2.0)
        finish(*writers)
    live = path.state.live()
    assert live is not None
    assert {end["peer"] for end in live["ends"]} == {""}
    assert path.rows == other.rows
