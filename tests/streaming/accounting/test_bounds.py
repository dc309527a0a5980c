"""Records that are wrong, hostile or too much: refused with a reason, bounded in memory, stopping nothing."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import pytest
from writing import RULES, Path, finish, gap, ns, pair, span

from collectors.contract.record_codec import encode
from collectors.contract.records import SECOND_NS, Clock, Record
from streaming.accounting import Accountant, PathState, bounds, ends
from streaming.histogram import BUCKETS


def rejected(path: Path) -> str | None:
    return None if path.state.rejection is None else path.state.rejection.reason


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        ("alien", {"path": "q"}),
        ("times", {"observed_from_ns": ns(3.0)}),
        ("times", {"gaps": (gap(5, 9, 0.0, 1.0),)}),
        ("times", {"gaps": (gap(0, 0, 1.0, 0.0),)}),
        ("future", {"gaps": (gap(0, 0, 1.0, 10_000.0),)}),
        ("times", {"unwatched": (span(1.0, 0.0),)}),
        ("future", {"unwatched": (span(1.0, 10_000.0),)}),
    ],
)
def test_a_record_that_cannot_be_is_refused_with_its_reason(reason: str, change: dict[str, Any]) -> None:
    """Another path's, a life or a gap that ends before it begins, a number given up that is its own."""
    path, sender, receiver = pair()
    receiver.alive(2.0, **change)
    assert rejected(path) == reason
    finish(sender, receiver, until=90.0)
    assert path.revisions(0) == [0]


def test_a_record_of_the_wrong_end_is_refused() -> None:
    """Senders receive nothing, receivers keep no ledger, and nobody keeps another one's."""
    path, sender, receiver = pair()
    sender.received(sender, 0, [0], 1.0)
    assert rejected(path) == "alien"
    receiver.ledger(0, [(0, 1, "accepted")], 1.0)
    assert rejected(path) == "alien"
    sender.ledger(0, [(0, 1, "accepted")], 1.0, stream="a" * 16)
    assert rejected(path) == "alien"


def test_ten_minutes_ahead_is_not_too_far() -> None:
    """To the microsecond, whatever a quick look at the columns would say."""
    for received, reason in ((601.0, None), (601.000001, "future")):
        path, sender, receiver = pair()
        receiver.received(sender, 600, [0], 1.0, sent=[600.05], latency=received - 600.05)
        assert rejected(path) == reason


def test_what_is_far_ahead_of_kafkas_time_is_refused() -> None:
    """A frontier of next year would make all other ends gone."""
    path, sender, receiver = pair()
    year = 31_536_000.0
    path.state.apply(Record(sender.header("alive", year)), ns(1.0))
    assert rejected(path) == "future"
    receiver.received(sender, round(year), [0], 1.0)
    assert rejected(path) == "future"
    receiver.received(sender, 0, [0], 1.0, latency=year)
    assert rejected(path) == "future"
    receiver.received(sender, round(year), [0], 1.0, latency=-year)
    assert rejected(path) == "future"
    receiver.received(sender, 0, [0], 1.0)
    assert rejected(path) is None


@pytest.mark.parametrize("clock", [Clock(-(1 << 60), 0), Clock(0, 1 << 60), Clock(-(1 << 60), 1 << 60)])
def test_a_forged_clock_moves_no_frontier(clock: Clock) -> None:
    """An offset is added to what is compared, so it is bounded as that is."""
    path, sender, receiver = pair()
    receiver.alive(1.0, clock={sender.run: clock})
    assert rejected(path) == "future"
    finish(sender, receiver, until=70.0)
    assert len(path.rows) == 12


@pytest.mark.parametrize("huge", [1 << 60, 1 << 45])
def test_a_forged_number_costs_no_memory_and_flags_the_window(huge: int) -> None:
    """2^60 makes no bitmap and no count; what else came in the second stays."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 2, "accepted")], 1.0)
    receiver.received(sender, 0, [0], 0.5)
    tracemalloc.start()
    receiver.received(sender, 0, [huge], 1.0)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
    assert rejected(path) == "numbers"
    finish(sender, receiver)
    row = path.row(0)
    assert row["classes"] == {"received": 1, "refused": 0, "lost": 0, "unobserved": 1}
    assert "dead_letters" in row["flags"]
    assert not row["complete"]


def test_a_forged_number_alone_in_its_second_is_not_taken_for_so_many_sent() -> None:
    """Without a ledger numbers count from where the stream was, unless that is absurd."""
    path, sender, receiver = pair()
    receiver.received("d" * 16, 0, [1 << 60], 1.0)
    finish(sender, receiver)
    assert path.row(0)["sent"] == 1


def test_a_ledger_over_absurdly_many_numbers_is_refused() -> None:
    """One run can claim 2^60 messages in a second."""
    path, sender, _ = pair()
    sender.ledger(0, [(0, 1 << 60, "accepted")], 1.0, due=1)
    assert rejected(path) == "numbers"


def test_streams_windows_and_ends_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood of runs, or of send seconds, does not grow the state without end."""
    monkeypatch.setattr(bounds, "ENDS", 40)
    monkeypatch.setattr(bounds, "WINDOWS", 40)
    path, _, receiver = pair()
    for number in range(bounds.STREAMS + 1):
        receiver.received(f"{number:016x}", 0, [0], 1.0)
    assert rejected(path) == "streams"
    for number in range(bounds.ENDS + 1):
        path.end("receiver", f"flood-{number}").alive(1.0)
    assert rejected(path) == "ends"
    path, sender, receiver = pair(Path(replace(RULES, window_ns=SECOND_NS)))
    for second in range(bounds.WINDOWS + 1):
        receiver.received(sender, -second, [0], 1.0)
    assert rejected(path) == "windows"


def test_numbers_in_too_many_pieces_are_refused() -> None:
    """Every other number of a second, from records without end."""
    path, sender, receiver = pair()
    place = 0
    while rejected(path) is None:
        seqs = range(place, place + 32_000, 2)
        receiver.received(sender, 0, seqs, 1.0, sent=[0.5] * len(seqs))
        place += 32_000
        assert place < 4 * bounds.NUMBER_RANGES
    assert rejected(path) == "runs"


def test_holes_among_record_numbers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other record missing: the oldest holes are given up; early numbers are held together."""
    path, _, receiver = pair()
    monkeypatch.setattr(ends, "RECORD_RANGES", 50)
    for number in range(10, 1_000, 2):
        receiver.number = number
        receiver.alive(1.0 + number / 10_000)
    other = path.end("receiver", "other")
    for number in range(1_000, 2, -2):
        other.number = number
        other.alive(1.0)
    assert len(path.state.dump_header()) < 10_000


def test_routes_of_a_window_are_bounded() -> None:
    """Further ones are counted together."""
    path, sender, receiver = pair()
    for number in range(3):
        routes = {f"r{number}-{place}": 1 for place in range(100)}
        receiver.received(sender, 0, [number], 1.0, routes=routes)
    finish(sender, receiver)
    routes = path.row(0)["routes"]
    assert len(routes) == bounds.ROUTES + 1
    assert routes["other"] == 300 - bounds.ROUTES


def test_one_record_brings_forth_a_bounded_number_of_rows_and_the_next_ones_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A leap of an hour makes windows of an hour."""
    monkeypatch.setattr(bounds, "ROWS", 100)
    path, sender, receiver = pair(Path(replace(RULES, gone_after_ns=10_000 * SECOND_NS)))
    finish(sender, receiver)
    sender.alive(3_600.0)
    assert len(receiver.alive(3_600.0)) == bounds.ROWS
    for _ in range(5):
        finish(sender, receiver, until=3_600.0)
    assert len(path.rows) == (3_600 - 10) // 5
    starts = [row["window_start_ns"] for row in path.rows if row["revision"] == 0]
    assert starts == [ns(5.0 * place) for place in range(len(starts))]


def test_bytes_that_are_no_record_are_a_dead_letter_and_nothing_else() -> None:
    """Many paths in one place: one bad record stops none of them."""
    _, sender, receiver = pair()
    accountant = Accountant(lambda _: RULES)
    good = encode(sender.header("alive", 2.0))
    for value, reason in ((b"", "malformed"), (b"x" * 2_000_000, "oversized"), (good[:-50], "malformed")):
        fed = accountant.feed(value, ns(1.0))
        assert fed.dead_letter is not None
        assert fed.dead_letter.reason == reason
        assert fed.rows == []
    assert accountant.feed(good, ns(1.0)).dead_letter is None
    misplaced = accountant.feed(encode(receiver.header("alive", 2.0)), ns(1.0), path="another")
    assert misplaced.dead_letter is not None
    assert misplaced.dead_letter.reason == "alien"


def test_a_window_is_a_whole_number_of_seconds() -> None:
    """Ledgers are kept by the second."""
    with pytest.raises(ValueError, match="whole number of seconds"):
        PathState("p", replace(RULES, window_ns=1_500_000_000))


def test_a_flood_of_windows_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is refused leaves the state as it was, and whatever a record asks for is refused alike."""
    monkeypatch.setattr(bounds, "WINDOWS", 40)
    path, sender, receiver = pair()
    for place in range(bounds.WINDOWS + 1):
        receiver.received(sender, -5 * place, [0], 1.0)
    assert rejected(path) == "windows"
    receiver.alive(500.0, foreign=1)
    assert rejected(path) == "windows"
    assert ns(0.0) in path.state.dirty_windows()


def test_final_windows_at_hand_are_no_reason_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many there are depends on when the state was last put away."""
    monkeypatch.setattr(bounds, "WINDOWS", 20)
    path, sender, receiver = pair(Path(replace(RULES, window_ns=SECOND_NS)))
    for second in range(60):
        receiver.received(sender, second, [second], second + 1.0)
        sender.ledger(second, [(second, 1, "accepted")], second + 1.0)
        assert rejected(path) is None
    assert sum(row["classes"]["received"] for row in path.rows) == len(path.rows) == 50


def test_a_clock_that_began_years_ago_costs_no_memory() -> None:
    """As of a host that boots in 1970, until a time server is heard."""
    path = Path()
    years = -20 * 365.25 * 86_400
    ends_there = path.end("sender", "s", start=years), path.end("receiver", "r", start=years)
    for until in (1.0, 100.0):
        finish(*ends_there, until=years + until)
    for end in ends_there:
        end.bye(years + 101.0)
    tracemalloc.start()
    sender, receiver = path.end("sender", "s"), path.end("receiver", "r")
    for until in (0.0, 30.0, 31.0):
        finish(sender, receiver, until=until)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    assert path.rows[-1]["window_start_ns"] == ns(15.0)


def test_a_path_full_of_ended_ends_has_room_for_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe that is started again and again ends one day, and then the path must not stay mute."""
    monkeypatch.setattr(bounds, "ENDS", 40)
    path, at = Path(), 0.0
    for _ in range(40):
        both = path.end("sender", "s", start=at), path.end("receiver", "r", start=at)
        finish(*both, until=at + 1.0)
        at += 3.0
    assert len(path.state.dump_header()) < 40_000
    both = path.end("sender", "s", start=at), path.end("receiver", "r", start=at)
    for second in range(1, 200):
        finish(*both, until=at + second)
        if second > 100:
            assert rejected(path) is None
    assert path.rows[-1]["window_start_ns"] == ns((at + 199 - 15) // 5 * 5)
    assert path.rows[-1]["complete"]
    starts = [row["window_start_ns"] for row in path.rows if row["revision"] == 0]
    assert starts == [ns(5.0 * place) for place in range(len(starts))]


def test_the_largest_row_fits_into_a_record_of_kafka() -> None:
    """Names of others, as many and as long as they may be: a row that Kafka refuses would stop the job."""
    path = Path(mesh="m" * 192, source="\U0001f600" * 192, target="\U0001f600" * 192, address="\x01" * 1_024)
    sender, receiver = path.end("sender"), path.end("receiver")
    finish(sender, receiver, until=0.0)
    for number in range(bounds.ENDS - 2):
        path.end("receiver", "\U0001f600" * 187 + f"{number:05}").alive(1.0)
    for number in range(bounds.ROUTES + 1):
        receiver.received(
            sender, 0, [number], 1.0, routes={"\U0001f600" * 505 + f"{number:07}": (1 << 40) - 1}
        )
    state = path.state
    assert rejected(path) is None
    finish(sender, receiver, until=59.0)
    found = [
        row for end in (sender, receiver) for row in state.apply(Record(end.header("alive", 90.0)), ns(90))
    ]
    assert max(map(len, found)) > 500_000
    assert max(map(len, found)) + 4 * BUCKETS * 3 < 1_048_576 - 1_000
