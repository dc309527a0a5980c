"""Each message sent is in exactly one class."""

from __future__ import annotations

import pytest
from writing import Path, finish, gap, pair, span

from collectors.contract.records import Outcome


def test_a_received_message_is_received_whatever_its_outcome_said() -> None:
    """Released, yet it came: received, and told beside the sum."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 1, "released"), (1, 1, "accepted")], 1.0)
    receiver.received(sender, 0, [0, 1], 1.0)
    finish(sender, receiver)
    row = path.row(0)
    assert row["classes"] == {"received": 2, "refused": 0, "lost": 0, "unobserved": 0}
    assert row["received_though_refused"] == 1


@pytest.mark.parametrize("outcome", ["rejected", "released", "modified"])
def test_a_refused_message_is_no_loss(outcome: Outcome) -> None:
    """Whoever was told that a message was not taken need not look for it."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 2, outcome)], 1.0)
    finish(sender, receiver)
    assert path.row(0)["classes"] == {"received": 0, "refused": 2, "lost": 0, "unobserved": 0}
    assert path.row(0)["refused"][outcome] == 2


@pytest.mark.parametrize("outcome", ["accepted", "presettled", "unsettled"])
def test_a_missing_message_is_lost_by_its_outcome(outcome: Outcome) -> None:
    """Nothing came, and nobody said that it would not."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 3, outcome)], 1.0)
    receiver.received(sender, 0, [1], 1.0)
    finish(sender, receiver)
    assert path.row(0)["classes"] == {"received": 1, "refused": 0, "lost": 2, "unobserved": 0}
    assert path.row(0)["lost"][outcome] == 2


def test_the_highest_revision_of_a_ledger_counts_whenever_it_comes() -> None:
    """An older revision that comes later changes nothing."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 1, "unsettled")], 1.0, revision=0)
    sender.ledger(0, [(0, 1, "released")], 2.0, revision=2)
    sender.ledger(0, [(0, 1, "accepted")], 3.0, revision=1)
    finish(sender, receiver)
    assert path.row(0)["refused"]["released"] == 1


def test_seconds_that_a_receivers_gap_concerns_are_unobserved_and_later_ones_lost() -> None:
    """A gap that ended before a message was sent cannot have swallowed it."""
    path, sender, receiver = pair()
    for second in range(5):
        sender.ledger(second, [(second, 1, "accepted")], second + 1.0)
    receiver.alive(1.5)
    receiver.skip()
    receiver.alive(2.5, gaps=(gap(2, 2, 1.5, 1.9),))
    finish(sender, receiver)
    row = path.row(0)
    assert row["classes"] == {"received": 0, "refused": 0, "lost": 2, "unobserved": 3}
    assert row["flags"] == ["receiver_gap", "unobserved"]
    assert not row["complete"]


def test_while_a_receiver_stood_still_nothing_is_lost() -> None:
    """As in a gap, though no record is missing; what the network gave back is refused all the same."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 1, "presettled")], 1.0)
    sender.ledger(1, [(1, 2, "presettled"), (3, 1, "released")], 2.0)
    for second in (2, 3):
        sender.ledger(second, [(second + 2, 1, "accepted")], second + 1.0)
    receiver.alive(0.9)
    receiver.received(sender, 1, [1], 3.0, unwatched=(span(0.9, 3.0),))
    finish(sender, receiver)
    row = path.row(0)
    assert row["classes"] == {"received": 1, "refused": 1, "lost": 1, "unobserved": 3}
    assert row["flags"] == ["receiver_gap", "unobserved"]
    assert not row["complete"]


def test_windows_that_were_final_are_told_anew_when_a_receiver_stood_still_in_them() -> None:
    """A record that tells of it late, as after kill -9, changes them."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 2, "accepted")], 1.0)
    sender.alive(40.0)
    receiver.alive(20.0)
    assert path.row(0)["classes"]["lost"] == 2
    receiver.alive(21.0, unwatched=(span(0.5, 3.0),))
    assert path.row(0)["classes"] == {"received": 0, "refused": 0, "lost": 0, "unobserved": 2}


def test_a_gap_after_the_window_but_before_it_settled_hides_what_came_late() -> None:
    """What is missing may have come in the gap, until the deadline."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 1, "accepted")], 1.0)
    receiver.alive(13.0)
    receiver.skip()
    receiver.alive(14.0, gaps=(gap(2, 2, 13.0, 14.0),))
    finish(sender, receiver)
    assert path.row(0)["classes"]["unobserved"] == 1


def test_a_gap_after_the_deadline_is_of_no_concern() -> None:
    """A message that late is lost anyway."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 1, "accepted")], 1.0)
    receiver.alive(15.5)
    receiver.skip()
    receiver.alive(16.5, gaps=(gap(2, 2, 15.5, 16.5),))
    finish(sender)
    assert path.row(0)["classes"]["lost"] == 1


def test_a_time_without_any_receiver_is_not_observed() -> None:
    """Clean end, and nobody else there: what is missing from then on may wait somewhere."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 1, "accepted")], 1.0)
    sender.ledger(4, [(1, 1, "accepted")], 5.0)
    receiver.bye(3.0)
    again = path.end("receiver", start=4.0)
    again.alive(5.0)
    finish(sender, again)
    assert path.row(0)["classes"] == {"received": 0, "refused": 0, "lost": 1, "unobserved": 1}


def test_a_clean_end_of_one_of_two_receivers_leaves_losses_losses() -> None:
    """The other one was there to take what came."""
    path = Path(receivers=2)
    sender, staying, leaving = path.end("sender"), path.end("receiver", "a"), path.end("receiver", "b")
    sender.ledger(4, [(0, 1, "accepted")], 5.0)
    staying.alive(3.0)
    leaving.bye(3.0)
    finish(sender, staying)
    assert path.row(0)["classes"]["lost"] == 1
    assert path.row(0)["flags"] == ["members_missing"]


def test_losses_while_a_receivers_link_was_down_are_told_apart() -> None:
    """By the second in which they were sent."""
    path, sender, receiver = pair()
    for second in range(5):
        sender.ledger(second, [(second, 1, "accepted")], second + 1.0)
    receiver.alive(3.0, detached=(span(1.2, 2.5),))
    finish(sender, receiver)
    assert path.row(0)["classes"]["lost"] == 5
    assert path.row(0)["lost_detached"] == 2


def test_without_a_ledger_numbers_between_received_ones_were_sent() -> None:
    """A sender killed with nothing published: the missing one is unobserved, not lost; 0 may be of before."""
    path, sender, receiver = pair()
    receiver.received("f" * 16, 1, [1, 2, 4], 2.0)
    finish(sender, receiver)
    row = path.row(0)
    assert (row["sent"], row["classes"]["received"], row["classes"]["unobserved"]) == (4, 3, 1)
    assert "ledger_incomplete" in row["flags"]


def test_numbers_without_a_ledger_are_counted_once_over_the_seconds_of_a_window() -> None:
    """Each second goes on where the one before ended."""
    path, sender, receiver = pair()
    receiver.received("f" * 16, 1, [0, 1, 2], 2.0)
    receiver.received("f" * 16, 2, [3, 5], 3.0)
    finish(sender, receiver)
    assert (path.row(0)["sent"], path.row(0)["classes"]["unobserved"]) == (6, 1)


def test_a_second_without_a_ledger_goes_on_where_the_seconds_before_it_in_the_window_ended() -> None:
    """What is between them was sent in this window, too."""
    path, sender, receiver = pair()
    sender.ledger(1, [(0, 10, "accepted")], 2.0)
    receiver.received(sender, 1, range(10), 2.0)
    sender.skip()
    receiver.received(sender, 3, [11, 13], 4.0)
    receiver.alive(16.0)
    sender.alive(16.0, gaps=(gap(2, 2, 2.0, 4.0),))
    row = path.row(0)
    assert (row["sent"], row["classes"]["received"], row["classes"]["unobserved"]) == (14, 12, 2)


def test_a_window_claims_no_numbers_that_may_be_of_earlier_ones() -> None:
    """A sender that nobody heard of for ten minutes: what it sent in them is not of the window after."""
    path, sender, receiver = pair()
    sender.ledger(1, [(0, 10, "accepted")], 2.0)
    receiver.received(sender, 1, range(10), 2.0)
    finish(sender, receiver)
    receiver.received(sender, 606, [600_011, 600_013], 607.0)
    receiver.alive(700.0)
    row = path.row(605)
    assert (row["sent"], row["classes"]["received"], row["classes"]["unobserved"]) == (3, 2, 1)
    assert "ledger_incomplete" in row["flags"]


def test_a_number_that_no_ledger_covers_was_sent_all_the_same() -> None:
    """It counts, so that classes add up, and is told as unexpected."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 2, "accepted")], 1.0)
    receiver.received(sender, 0, [0, 1, 7], 1.0)
    finish(sender, receiver)
    row = path.row(0)
    assert (row["sent"], row["classes"]["received"], row["unexpected"]) == (3, 3, 1)
    assert row["flags"] == ["unexpected"]
    assert row["response"] is not None
    assert row["response"]["count"] == 3


def test_competing_receivers_and_repeated_rows_make_a_message_one() -> None:
    """Duplicates are told beside, and the first arrival is the one that is measured."""
    path = Path(receivers=2)
    sender, first, second = path.end("sender"), path.end("receiver", "a"), path.end("receiver", "b")
    sender.ledger(0, [(0, 6, "accepted")], 1.0)
    first.received(sender, 0, [0, 2, 4, 0], 1.0, latency=[0.001, 0.001, 0.001, 0.7])
    second.received(sender, 0, [1, 3, 5, 4], 1.0, latency=[0.001, 0.001, 0.001, 0.9], flags=[0, 0, 2, 1])
    finish(sender, first, second)
    row = path.row(0)
    assert row["classes"]["received"] == 6
    assert (row["duplicate"], row["redelivered"], row["reordered"]) == (2, 1, 1)
    assert row["response"] is not None
    assert (row["response"]["count"], row["response"]["max_ns"]) == (6, 1_000_000)


def test_warm_up_is_ignored_but_is_no_hole_among_a_receivers_records() -> None:
    """A warm-up run is not there at all; a receiver's rows of it only tell that it was there."""
    path, sender, receiver = pair()
    path.end("sender", "warm").ledger(0, [(0, 9, "accepted")], 1.0, warmup=True)
    receiver.received("e" * 16, 0, [0, 1], 1.0, warmup=True)
    finish(sender, receiver)
    assert path.row(0)["sent"] == 0
    assert [member["name"] for member in path.row(0)["members"]] == ["receiver-0", "sender-0"]


def test_a_multicast_message_that_another_receiver_refused_is_received_here() -> None:
    """Its outcome is of the whole fan-out."""
    path, sender, receiver = pair(Path(multicast=True))
    sender.ledger(0, [(0, 2, "modified")], 1.0)
    receiver.received(sender, 0, [1], 1.0)
    finish(sender, receiver)
    assert path.row(0)["classes"] == {"received": 1, "refused": 1, "lost": 0, "unobserved": 0}


def test_a_gap_declared_after_a_hole_without_a_word_lasts_as_long_as_without_the_hole() -> None:
    """The hole holds back the end's frontier; the records that declare and close the gap have their own."""
    for holes in (0, 1):
        path = Path(receivers=2)
        sender, one, other = path.end("sender"), path.end("receiver"), path.end("receiver", "receiver-1")
        finish(sender, one, other, until=0.0)
        one.alive(1.0)
        one.skip(holes)
        one.alive(2.0)
        number = one.number
        one.skip()
        one.alive(4.0, gaps=(gap(number, number, 2.0, 4.0),))
        one.alive(7.0)
        sender.ledger(6, [(0, 3, "accepted")], 7.0)
        for second in range(8, 100):
            finish(sender, one, other, until=float(second))
        row = path.row(5)
        assert row["classes"] == {"received": 0, "refused": 0, "lost": 0, "unobserved": 3}, holes
        assert "receiver_gap" in row["flags"]


def test_an_end_joined_midway_has_no_longer_a_gap_for_a_declared_one() -> None:
    """Until its first frontier, and what it declares; not until the next record's."""
    path = Path(receivers=2)
    sender, receiver = path.end("sender"), path.end("receiver")
    for until in (0.0, 20.0, 31.0):
        finish(sender, receiver, until=until)
    other = path.end("receiver", "receiver-1", start=30.0)
    other.skip(3)
    other.alive(33.0, gaps=(gap(2, 2, 31.0, 32.0),))
    sender.ledger(32, [(0, 2, "accepted")], 33.0)
    sender.ledger(33, [(2, 2, "accepted")], 34.0)
    for second in range(34, 60):
        finish(sender, receiver, other, until=float(second))
    assert path.row(30)["classes"] == {"received": 0, "refused": 0, "lost": 2, "unobserved": 2}
