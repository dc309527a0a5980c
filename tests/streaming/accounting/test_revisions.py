"""What later records change of final windows."""

from __future__ import annotations

from writing import Path, Writer, finish, gap, ns, pair, span

from collectors.contract.records import Record


def first(path: Path) -> list[int]:
    return path.revisions(0)


def test_an_end_first_seen_after_a_window_was_final_causes_a_revision() -> None:
    """With the next step of the path's frontier, not before."""
    path, sender, receiver = pair(Path(receivers=2))
    finish(sender, receiver)
    other = path.end("receiver", "b")
    other.alive(16.0)
    assert first(path) == [0]
    finish(sender, receiver, other, until=17.0)
    assert first(path) == [0, 1]
    assert path.row(0)["flags"] == []


def test_what_an_end_has_still_to_tell_of_a_final_window_is_a_gap() -> None:
    """Both ends begin anew in a window that was final when they had ended: nothing is lost yet."""
    path, sender, receiver = pair()
    sender.bye(3.0)
    receiver.bye(3.0)
    assert path.revisions(0) == [0]
    sender, receiver = path.end("sender", start=4.0), path.end("receiver", start=4.0)
    receiver.alive(5.0)
    sender.ledger(4, [(0, 1, "accepted")], 5.0)
    finish(sender, receiver, until=6.0)
    assert path.row(0)["classes"]["unobserved"] == 1
    finish(sender, receiver)
    finish(sender, receiver, until=17.0)
    assert path.row(0)["classes"] == {"received": 0, "refused": 0, "lost": 1, "unobserved": 0}


def late_receiver() -> tuple[Path, Writer, Writer, Writer]:
    """Two receivers' windows final until 25 s, with 10 messages in the first of which 5 came."""
    path = Path(receivers=2)
    sender, receiver, late = path.end("sender"), path.end("receiver", "a"), path.end("receiver", "b")
    sender.ledger(0, [(0, 10, "accepted")], 1.0)
    receiver.received(sender, 0, range(5), 1.0)
    late.alive(0.5)
    finish(sender, receiver, until=70.0)
    return path, sender, receiver, late


def test_late_records_make_one_revision_for_each_step_of_the_paths_frontier() -> None:
    """Ten late records are one change; its moves are counted since revision 0."""
    path, sender, receiver, late = late_receiver()
    for seq in range(5, 8):
        late.received(sender, 0, [seq], 1.0)
    assert first(path) == [0]
    finish(sender, receiver, late, until=71.0)
    assert first(path) == [0, 1]
    assert path.row(0)["moves"] == {"unobserved>received": 3, "unobserved>lost": 2}
    late.received(sender, 0, [8], 71.0)
    assert first(path) == [0, 1]
    finish(sender, receiver, late, until=72.0)
    row = path.row(0)
    assert (row["revision"], row["late"]) == (2, 4)
    assert row["moves"] == {"unobserved>received": 4, "unobserved>lost": 1}
    assert sum(row["classes"].values()) == row["sent"] == 10
    before = path.row(0, revision=0)["classes"]
    assert before == {"received": 5, "refused": 0, "lost": 0, "unobserved": 5}


def test_a_later_ledger_moves_messages_and_tells_of_new_ones() -> None:
    """Numbers that were not known to be sent come from `none`."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 2, "accepted")], 1.0)
    finish(sender, receiver)
    sender.ledger(0, [(0, 1, "released"), (1, 2, "accepted")], 16.0, revision=1)
    finish(sender, receiver, until=17.0)
    assert path.row(0)["moves"] == {"lost>refused": 1, "none>lost": 1}


def test_a_change_that_changes_nothing_makes_no_revision() -> None:
    """The same ledger again, with a higher revision."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 2, "accepted")], 1.0)
    finish(sender, receiver)
    sender.ledger(0, [(0, 2, "accepted")], 16.0, revision=1)
    finish(sender, receiver, until=17.0)
    assert first(path) == [0]


def test_beyond_the_horizon_nothing_changes_and_samples_are_counted() -> None:
    """Then the window's state is not needed any longer."""
    path, sender, receiver = pair()
    finish(sender, receiver, until=16.0)
    finish(sender, receiver, until=1_000.0)
    receiver.received(sender, 2, [0, 1], 1_000.0)
    finish(sender, receiver, until=1_001.0)
    assert first(path) == [0]
    assert path.state.counters["beyond_horizon"] == 2
    assert ns(0) in path.state.forgotten_windows()


def test_a_record_passed_over_is_passed_over_again_when_later_ones_made_its_end_known() -> None:
    """The job keeps nothing of it by which it would know the repeat."""
    path, sender, receiver = pair()
    finish(sender, receiver, until=16.0)
    finish(sender, receiver, until=2_000.0)
    other = path.end("receiver", "b")
    record = Record(other.header("alive", 1_000.0))
    path.feed(record)
    other.alive(1_100.0)
    kept = path.state.dump_header()
    assert path.state.apply(record, ns(1_500.0)) == []
    assert path.state.dump_header() == kept


def test_a_gap_told_of_time_that_was_measured_changes_windows_that_were_final() -> None:
    """A record that the sink gave up although Kafka had taken it."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 3, "accepted")], 1.0)
    receiver.alive(1.0)
    number = receiver.number
    finish(sender, receiver)
    assert path.row(0)["classes"]["lost"] == 3
    receiver.alive(17.0, gaps=(gap(number, number, 0.5, 16.0),))
    finish(sender, receiver, until=18.0)
    assert path.row(0)["classes"]["unobserved"] == 3
    assert path.row(0)["moves"] == {"lost>unobserved": 3}


def test_a_detachment_told_late_changes_windows_that_were_final() -> None:
    """It was longer than the windows that it began in took to become final."""
    path, sender, receiver = pair()
    sender.ledger(0, [(0, 3, "accepted")], 1.0)
    finish(sender, receiver)
    assert path.row(0)["lost_detached"] == 0
    receiver.alive(17.0, detached=(span(0.0, 16.5),))
    finish(sender, receiver, until=18.0)
    assert (path.row(0)["lost_detached"], path.revisions(0)) == (3, [0, 1])
