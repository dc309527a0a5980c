"""What is told of windows that are not final yet."""

from __future__ import annotations

from typing import Any

from writing import Path, finish, gap, ns, pair

from collectors.contract import window_rows as contract
from collectors.contract.window_rows import LiveRow

MS = 1_000_000


def live(path: Path) -> LiveRow:
    found = path.state.live()
    assert found is not None
    assert contract.decode_live(contract.encode(found)) == found
    return found


def test_there_is_nothing_to_tell_before_the_first_record() -> None:
    """And no row of zeros that looks like a quiet path."""
    assert Path().state.live() is None


def test_pending_messages_become_suspect_with_the_receivers_frontier() -> None:
    """After max(1 s, 3 × the last final p99.9): not by anybody's wall clock."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 4, "accepted")], 1.0)
    receiver.received(sender, 0, [0, 1], 1.0)
    row = live(path)
    assert (row["sent"], row["received"], row["pending"], row["suspect"]) == (4, 2, 2, 0)
    assert row["oldest_pending_ns"] == ns(0)
    sender.alive(9.0)
    assert live(path)["suspect"] == 0
    receiver.alive(2.0)
    assert live(path)["suspect"] == 2
    finish(sender, receiver)
    assert (live(path)["pending"], live(path)["oldest_pending_ns"]) == (0, None)


def test_slow_paths_are_suspected_later() -> None:
    """Three times what the slowest of a thousand took."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 1, "accepted")], 1.0)
    receiver.received(sender, 0, [0], 2.0, latency=1.0)
    finish(sender, receiver)
    sender.ledger(16, [(1, 1, "accepted")], 17.0)
    finish(sender, receiver, until=19.9)
    assert live(path)["suspect"] == 0
    finish(sender, receiver, until=20.1)
    assert live(path)["suspect"] == 1


def test_a_percentile_among_the_missing_is_a_lower_bound() -> None:
    """In a stall the few that arrived would show a fine latency."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 100, "accepted")], 1.0)
    receiver.received(sender, 0, range(60), 1.0, latency=0.002)
    receiver.alive(5.0)
    response, lower = live(path)["response"], live(path)["lower_bound"]
    assert response["50"] <= 2 * MS * 1.001
    assert 4_000 * MS <= response["90"] <= 4_004 * MS
    assert lower == ["90", "95", "99", "max"]
    assert response["mean"] == 2 * MS


def test_messages_that_receivers_may_not_have_told_of_yet_are_not_missing() -> None:
    """A ledger that is published a moment earlier is no stall."""
    path, sender, receiver = pair()
    receiver.received(sender, 0, range(50), 0.5, latency=0.002)
    sender.ledger(0, [(0, 100, "accepted")], 1.0)
    row = live(path)
    assert row["lower_bound"] == []
    assert row["response"]["max"] == 2 * MS


def test_the_oldest_message_that_waits_to_be_sent_tells_how_far_behind_a_sender_is() -> None:
    """As old as it was when the sender last told."""
    path, sender, _ = pair()
    sender.alive(7.5, oldest_due_ns=ns(2.0))
    assert live(path)["behind_ns"] == 5_500 * MS
    sender.ledger(7, [], 7.5)  # the first of the next publication, which says nothing of the end
    assert live(path)["behind_ns"] == 5_500 * MS
    sender.alive(8.0)
    assert live(path)["behind_ns"] == 0


def test_ends_links_and_times_are_told_as_of_the_newest_record() -> None:
    """So that a page can say who is silent."""
    path, sender, receiver = pair()
    receiver.received(sender, 0, [0, 0], 1.0)
    receiver.alive(3.0, link="detached")
    row = live(path)
    assert (row["at_ns"], row["duplicate"]) == (ns(3.0), 1)
    assert row["last_received_ns"] == ns(0.001)
    assert [(end["role"], end["link"], end["frontier_ns"]) for end in row["ends"]] == [
        ("receiver", "detached", ns(3.0)),
        ("sender", "attached", ns(0)),
    ]


def test_a_running_outage_is_told_from_the_final_windows() -> None:
    """Since the last delivery."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 3, "accepted")], 1.0)
    receiver.received(sender, 0, [0], 1.0, sent=[0.25])
    finish(sender, receiver)
    assert live(path)["outage_since_ns"] == ns(0.25)


def test_a_declared_gap_does_not_disturb() -> None:
    """What is pending stays so until the window is final."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 1, "accepted")], 1.0)
    receiver.skip()
    receiver.alive(3.0, gaps=(gap(1, 1, 0.0, 2.0),))
    assert live(path)["pending"] == 1


def test_the_last_arrival_is_exact_however_narrow_the_columns_are() -> None:
    """A send time of two bytes and a latency of four are more than four bytes together."""
    path, sender, receiver = pair()
    receiver.received(sender, 1, [0], 4.0, sent=[1.00006], latency=2.147483)
    assert live(path)["last_received_ns"] == ns(1.00006 + 2.147483)


def test_without_a_ledger_numbers_count_from_the_first_that_came() -> None:
    """Where the stream was before is known when the window is final; it sent more than this, but not now."""
    path, sender, receiver = pair()
    sent = [3_600 + place / 10 for place in range(5)]
    receiver.received(sender, 3_600, range(36_000, 36_005), 3_600.5, sent=sent)
    assert (live(path)["sent"], live(path)["received"]) == (5, 5)
    sender.ledger(3_600, [(36_000, 7, "accepted")], 3_601.0)
    assert (live(path)["sent"], live(path)["received"]) == (7, 5)
    receiver.received(sender, 3_601, range(36_009, 36_012), 3_601.5)
    assert live(path)["sent"] == 7 + 5


def test_the_last_arrival_is_known_whenever_somebody_asks_first() -> None:
    """Its window may be final by then."""
    path, sender, receiver = pair()
    receiver.received(sender, 0, [0], 1.0, latency=0.1)
    sender.ledger(0, [(0, 1, "accepted")], 1.0)
    finish(sender, receiver, until=40.0)
    assert live(path)["last_received_ns"] == ns(0.1)


def peers(path: Path) -> dict[str, str]:
    return {end["role"]: end["peer"] for end in live(path)["ends"]}


def test_to_whom_an_end_is_attached_is_told() -> None:
    """As its newest record told it; one that does not tell it changes nothing."""
    path, sender, receiver = pair()
    sender.alive(1.0)
    receiver.alive(1.0, peer="QDR.C")
    assert peers(path) == {"sender": "", "receiver": "QDR.C"}
    sender.alive(3.0, peer="QDR.A")
    receiver.alive(3.0, peer="QDR.D")
    sender.alive(4.0)
    receiver.alive(2.0, peer="QDR.C")  # comes late
    assert peers(path) == {"sender": "QDR.A", "receiver": "QDR.D"}


def test_a_row_of_an_older_job_is_read() -> None:
    """It does not say to whom the ends are attached, nor when Kafka took their records."""
    path, sender, _ = pair()
    sender.alive(1.0, peer="QDR.A")
    row = live(path)
    older: dict[str, Any] = {**row}
    older["ends"] = [{k: v for k, v in end.items() if k != "peer"} for end in row["ends"]]
    assert older.pop("appended_ns") > 0
    found = contract.decode_live(contract.canonical(older))
    assert found["appended_ns"] == 0
    assert [end["peer"] for end in found["ends"]] == ["", ""]
    assert [{**end, "peer": ""} for end in row["ends"]] == found["ends"]
