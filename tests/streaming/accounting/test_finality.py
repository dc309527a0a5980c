"""Who is a member of a window, when it is final, and what changes it later: from the data alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from writing import RULES, Path, finish, gap, ns, pair

from collectors.contract.records import SECOND_NS, Clock


def first(path: Path) -> list[int]:
    return path.revisions(0)


def test_a_window_is_final_when_every_member_has_measured_until_it_settled() -> None:
    """Neither end alone makes it final, and not a nanosecond earlier."""
    path, sender, receiver = pair()
    sender.alive(50.0)
    receiver.alive(14.999999)
    assert first(path) == []
    receiver.alive(15.0)
    assert first(path) == [0]


def test_windows_become_final_in_order_without_holes_even_with_nothing_sent() -> None:
    """A reader can tell a missing row from a quiet window."""
    path, sender, receiver = pair()
    finish(sender, receiver, until=40.0)
    assert [row["window_start_ns"] for row in path.rows] == [ns(0), ns(5), ns(10), ns(15), ns(20), ns(25)]
    assert {row["sent"] for row in path.rows} == {0}


def test_a_missing_record_holds_the_frontier_back_until_it_comes() -> None:
    """What it may tell of is not known."""
    path, sender, receiver = pair()
    sender.alive(16.0)
    receiver.alive(1.0)
    missing = receiver.header("alive", 2.0)
    receiver.alive(20.0)
    assert first(path) == []
    receiver.number = missing.number
    receiver.alive(2.0)
    assert first(path) == [0]


def test_a_declared_gap_lets_the_frontier_go_on() -> None:
    """The sink has told that those records never come."""
    path, sender, receiver = pair()
    sender.alive(16.0)
    receiver.alive(1.0)
    receiver.skip(3)
    receiver.alive(20.0, gaps=(gap(2, 4, 1.0, 4.0),))
    assert first(path) == [0]


def test_records_missing_without_a_word_are_given_up_after_gone_after() -> None:
    """A record that nobody can read must not stop the path for good; what it told is unobserved."""
    path, sender, receiver = pair()
    sender.ledger(1, [(0, 1, "accepted")], 2.0)
    receiver.alive(1.0)
    receiver.skip()
    receiver.alive(2.0)
    receiver.alive(3.0)
    finish(sender, receiver, until=60.9)
    assert first(path) == []
    finish(sender, receiver, until=61.0)
    assert path.row(0)["classes"]["unobserved"] == 1


def test_a_hole_reaches_until_a_record_after_it_moves_the_frontier() -> None:
    """The lost record may have been the first of several that were published at one time."""
    path, sender, receiver = pair()
    sender.ledger(3, [(0, 1, "accepted")], 4.0)
    receiver.alive(2.0)
    receiver.skip()  # tells of the time until 4.0, as the next two do; only the last of them says so
    receiver.alive(2.0)
    receiver.alive(4.0)
    finish(receiver, sender, until=61.0)
    finish(receiver, sender, until=62.0)
    assert path.row(0)["classes"]["unobserved"] == 1


def test_a_declared_gap_reaches_until_a_record_after_it_moves_the_frontier() -> None:
    """The same, where the sink told of it."""
    path, sender, receiver = pair()
    sender.ledger(3, [(0, 1, "accepted")], 4.0)
    receiver.alive(2.0)
    receiver.skip()
    receiver.alive(2.0, gaps=(gap(2, 2, 2.0, 2.0),))
    receiver.alive(4.0)
    finish(sender, receiver)
    assert path.row(0)["classes"]["unobserved"] == 1


def test_repeats_change_nothing_and_are_counted() -> None:
    """A producer that is not sure sends again."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 2, "accepted")], 1.0)
    for _ in range(3):
        receiver.number = 1
        receiver.received(sender, 0, [0, 1], 1.0)
    finish(sender, receiver)
    assert path.row(0)["duplicate"] == 0
    assert path.state.counters["repeats"] == 2


def test_a_clean_end_does_not_hold_windows_back() -> None:
    """After bye nothing more will come of it."""
    path, sender, receiver = pair()
    receiver.alive(1.0)
    sender.bye(3.0)
    finish(receiver)
    assert first(path) == [0]


def test_a_clean_end_with_a_record_missing_is_none_yet() -> None:
    """The missing one may still come, and tell of messages."""
    path, sender, receiver = pair()
    sender.alive(1.0)
    sender.skip()
    sender.bye(3.0)
    finish(receiver)
    assert first(path) == []
    receiver.alive(62.0)
    assert first(path) == [0]
    assert "ledger_incomplete" in path.row(0)["flags"]


def test_a_successor_ends_a_run_with_a_gap_until_it_began() -> None:
    """Killed at about 3 s, there again at 4: what came in between nobody saw."""
    path, sender, receiver = pair()
    sender.ledger(2, [(0, 1, "accepted")], 3.0)
    sender.ledger(4, [(1, 1, "accepted")], 5.0)
    receiver.alive(3.0)
    again = path.end("receiver", start=4.0)
    again.alive(5.0)
    finish(sender, again)
    assert path.row(0)["classes"] == {"received": 0, "refused": 0, "lost": 1, "unobserved": 1}
    assert [member["name"] for member in path.row(0)["members"]] == ["receiver-0", "receiver-0", "sender-0"]


def test_a_successor_that_comes_late_does_not_make_its_predecessor_live_longer() -> None:
    """Gone after 60 s, whoever comes after 100."""
    path, sender, receiver = pair()
    receiver.alive(1.0)
    sender.alive(75.0)
    again = path.end("receiver", start=100.0)
    again.alive(101.0)
    sender.alive(101.0)
    assert [member["role"] for member in path.row(60)["members"]] == ["receiver", "sender"]
    assert [member["role"] for member in path.row(65)["members"]] == ["sender"]


def test_an_end_that_is_silent_for_gone_after_is_gone() -> None:
    """The path goes on without it: unobserved for so long, and no member afterwards."""
    path, sender, receiver = pair()
    receiver.alive(1.0)
    sender.ledger(0, [(0, 1, "accepted")], 1.0)
    sender.alive(60.9)
    assert path.rows == []
    sender.alive(61.0)
    assert path.row(0)["classes"]["unobserved"] == 1
    sender.alive(90.0)
    assert [member["role"] for member in path.row(55)["members"]] == ["receiver", "sender"]
    assert [member["role"] for member in path.row(65)["members"]] == ["sender"]
    assert "members_missing" in path.row(65)["flags"]


def test_an_end_that_was_taken_for_gone_and_comes_back_sets_it_right() -> None:
    """Its spool tells what it saw; unobserved becomes received, or lost."""
    path, sender, receiver = pair()
    receiver.alive(1.0)
    sender.ledger(2, [(0, 2, "accepted")], 3.0)
    sender.alive(62.0)
    assert path.row(0)["classes"]["unobserved"] == 2
    receiver.received(sender, 2, [1], 3.0)
    finish(sender, receiver, until=63.0)
    finish(sender, receiver, until=64.0)
    row = path.row(0)
    assert row["classes"] == {"received": 1, "refused": 0, "lost": 1, "unobserved": 0}
    assert row["moves"] == {"unobserved>lost": 1, "unobserved>received": 1}
    assert row["late"] == 1


def test_all_ends_gone_cleanly_make_all_their_windows_final() -> None:
    """There is nobody left to wait for."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 1, "accepted")], 1.0)
    receiver.received(sender, 0, [0], 1.0)
    sender.bye(6.0)
    assert path.rows == []
    receiver.bye(7.0)
    assert [row["window_start_ns"] for row in path.rows] == [ns(0), ns(5)]
    assert path.row(0)["classes"]["received"] == 1


def test_fewer_members_than_configured_never_block_and_are_told() -> None:
    """Two receivers configured, one there."""
    path, sender, receiver = pair(Path(receivers=2))
    finish(sender, receiver)
    assert path.row(0)["flags"] == ["members_missing"]
    assert not path.row(0)["complete"]


def test_before_a_sender_is_there_receivers_are_not_missed() -> None:
    """A path that begins in the middle of a window is whole, where its receivers came first."""
    path = Path()
    receiver, sender = path.end("receiver", start=2.0), path.end("sender", start=2.5)
    receiver.alive(2.6)
    sender.ledger(2, [(0, 1, "accepted")], 3.0)
    receiver.received(sender, 2, [0], 3.0, sent=[2.7])
    finish(sender, receiver)
    assert path.row(0)["flags"] == []
    later = Path()
    receiver, sender = later.end("receiver", start=2.5), later.end("sender", start=2.0)
    receiver.alive(2.6)
    finish(sender, receiver)
    assert later.row(0)["flags"] == ["members_missing", "receiver_gap"]


def test_joined_midway_there_are_no_rows_for_what_was_before() -> None:
    """Records from before the topic's first one may be missing, or still to come."""
    path = Path()
    sender, receiver = path.end("sender"), path.end("receiver")
    sender.skip(7)
    receiver.skip(7)
    sender.ledger(100, [(500, 1, "accepted")], 101.0)
    receiver.received(sender, 100, [500], 102.0)
    finish(sender, receiver, until=200.0)
    assert path.rows[0]["window_start_ns"] == ns(165)
    assert path.state.counters["before_start"] == 1


def test_a_run_joined_midway_later_has_a_gap_before() -> None:
    """Its first records are lost, the path goes on."""
    path, sender, receiver = pair()
    finish(sender, receiver)
    sender.ledger(16, [(0, 1, "accepted")], 17.0)
    receiver.bye(17.0)
    again = path.end("receiver", start=17.0)
    again.skip(2)
    again.alive(18.0)
    again.alive(19.0)
    finish(sender, again, until=40.0)
    assert path.row(15)["classes"]["unobserved"] == 1
    assert path.row(20)["flags"] == []


def test_the_first_row_is_at_most_the_horizon_back() -> None:
    """Ends that tell of times long ago first: whoever reads rows has no use for those."""
    path, sender, receiver = pair()
    finish(sender, receiver, until=2_000.0)
    assert path.rows[0]["window_start_ns"] == ns(2_000 - 15 - 900)


def test_an_end_that_began_after_the_deadline_blocks_nothing_however_unsure_its_clock() -> None:
    """It has nothing to tell of that window, though its frontier is put back before the deadline."""
    path, sender, receiver = pair()
    finish(sender, receiver, until=99.0)
    receiver.bye(99.0)
    again = path.end("receiver", start=100.0)
    again.alive(101.0, clock={sender.run: Clock(0, 5 * SECOND_NS)})
    sender.alive(101.0)
    assert path.revisions(85) == [0]
    assert path.revisions(90) == []


def test_a_long_silence_is_passed_over_and_a_short_one_is_not() -> None:
    """No rows of a week in which nobody was there, but for the horizon's last part."""
    path, sender, receiver = pair()
    sender.bye(4.0)
    receiver.bye(4.0)
    again = path.end("sender", start=604_800.0), path.end("receiver", start=604_800.0)
    finish(*again, until=604_820.0)
    starts = [row["window_start_ns"] for row in path.rows]
    assert starts[0] == ns(0)
    assert starts[1] >= ns(604_800.0 - 920)
    assert starts[-1] == ns(604_805.0)
    assert {b - a for a, b in pairwise(starts[1:])} == {RULES.window_ns}


def test_rows_tell_the_rules_they_were_made_by() -> None:
    """The same window by other rules is another row."""
    rows = []
    for settle in (10, 9):
        path, sender, receiver = pair(Path(replace(RULES, settle_ns=settle * SECOND_NS)))
        finish(sender, receiver)
        rows.append(path.row(0)["rules"])
    assert rows[0] != rows[1]
