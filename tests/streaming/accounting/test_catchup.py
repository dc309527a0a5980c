"""After an outage of Kafka the records that ends kept come at once, those of one end before another's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from writing import RULES, Path, Writer, finish, ns, pair

from collectors.contract.records import SECOND_NS
from collectors.contract.window_rows import WindowRow
from streaming.accounting import PathState, bounds

OUTAGE = range(20, 620)  # ten minutes, which is what a spool keeps


def send(sender: Writer, seconds: range) -> None:
    """Ten messages a second."""
    for second in seconds:
        sender.ledger(second, [(10 * second, 10, "accepted")], second + 1.0)


def receive(receiver: Writer, sender: Writer, seconds: range) -> None:
    """All of them."""
    for second in seconds:
        receiver.received(sender, second, range(10 * second, 10 * second + 10), second + 1.0)


def both(sender: Writer, receiver: Writer, seconds: range) -> None:
    """As they come while all is well."""
    for second in seconds:
        send(sender, range(second, second + 1))
        receive(receiver, sender, range(second, second + 1))


def with_windows(seconds: int) -> Path:
    return Path(replace(RULES, window_ns=seconds * SECOND_NS))


def undisturbed(seconds: int) -> list[WindowRow]:
    path, sender, receiver = pair(with_windows(seconds))
    both(sender, receiver, range(660))
    return path.rows


@pytest.mark.parametrize("first", ["receiver", "sender"])
@pytest.mark.parametrize("seconds", [1, 5])
def test_ten_minutes_caught_up_give_the_rows_of_a_live_run(first: str, seconds: int) -> None:
    """Each with all of its messages and no revision, however far one end's records are ahead."""
    path, sender, receiver = pair(with_windows(seconds))
    both(sender, receiver, range(OUTAGE.start))
    path.outage(OUTAGE.stop)
    if first == "sender":
        send(sender, OUTAGE)
    receive(receiver, sender, OUTAGE)
    assert path.rows[-1]["window_start_ns"] < ns(OUTAGE.start)
    if first == "receiver":
        send(sender, OUTAGE)
    both(sender, receiver, range(OUTAGE.stop, 660))
    assert {
        (row["revision"], row["classes"]["received"], row["sent"], row["complete"]) for row in path.rows
    } == {(0, 10 * seconds, 10 * seconds, True)}
    assert path.rows == undisturbed(seconds)


def test_runs_that_end_and_begin_during_the_outage_are_waited_for() -> None:
    """A clean end among the records that one host kept; its next run's come right behind."""
    told = []
    for outage in (False, True):
        path, sender, receiver = pair()
        both(sender, receiver, range(OUTAGE.start))
        if outage:
            path.outage(OUTAGE.stop)
            send(sender, OUTAGE)
        again = path.end("receiver", start=301.5)
        for second in OUTAGE:
            if not outage:
                send(sender, range(second, second + 1))
            if second < 300:
                receive(receiver, sender, range(second, second + 1))
            elif second == 300:
                receiver.bye(300.5)
            elif second > 301:
                receive(again, sender, range(second, second + 1))
        both(sender, again, range(OUTAGE.stop, 660))
        told.append(path.rows)
    assert told[0] == told[1]
    assert {row["revision"] for row in told[1]} == {0}
    assert (
        sum(row["classes"]["unobserved"] for row in told[1]) == 20
    )  # of the seconds in which nobody was there


def test_an_end_that_began_during_the_outage_is_waited_for() -> None:
    """The receiver had ended before. What the sender kept comes first; windows wait for who may follow."""
    path, sender, receiver = pair()
    both(sender, receiver, range(OUTAGE.start))
    receiver.bye(20.0)
    finish(sender, until=50.0)
    path.outage(OUTAGE.stop)
    send(sender, range(50, 620))
    again = path.end("receiver", "another", start=100.0)
    receive(again, sender, range(100, 620))
    both(sender, again, range(620, 660))
    assert path.revisions(100) == path.revisions(300) == [0]
    assert path.row(100)["classes"] == {"received": 50, "refused": 0, "lost": 0, "unobserved": 0}


def test_while_append_time_stands_still_nobody_is_gone() -> None:
    """Ten minutes of the receiver's records, appended at one moment, are no silence of the sender's."""
    path, sender, receiver = pair()
    both(sender, receiver, range(OUTAGE.start))
    before = len(path.rows)
    path.outage(OUTAGE.stop)
    receive(receiver, sender, OUTAGE)
    assert len(path.rows) == before


def test_an_end_that_did_not_outlive_the_outage_is_gone_once_append_time_went_on() -> None:
    """Silent for so long while Kafka took what others wrote; what is left of 600 windows comes next."""
    path, sender, receiver = pair(with_windows(1))
    both(sender, receiver, range(OUTAGE.start))
    before = len(path.rows)
    path.outage(OUTAGE.stop)
    receive(receiver, sender, OUTAGE)
    receive(receiver, sender, range(620, 670))
    assert len(path.rows) == before
    for second in range(670, 690):
        receive(receiver, sender, range(second, second + 1))
        if len(path.rows) > before:
            break
    assert len(path.rows) == before + bounds.ROWS
    assert path.rows[-1]["flags"] == ["ledger_incomplete", "members_missing"]
    assert path.rows[-1]["classes"] == {"received": 10, "refused": 0, "lost": 0, "unobserved": 0}
    receive(receiver, sender, range(second + 1, second + 2))
    assert path.rows[-1]["window_start_ns"] == ns(second + 2 - 11)


def test_one_end_cut_off_while_others_go_on_is_gone_and_comes_back() -> None:
    """As long as Kafka takes what the other one writes: its windows cannot wait for ever."""
    path, sender, receiver = pair()
    both(sender, receiver, range(20))
    receive(receiver, sender, range(20, 200))
    assert path.row(100)["flags"] == ["ledger_incomplete", "members_missing"]
    assert path.row(100)["sent"] == path.row(100)["classes"]["received"] == 50
    send(sender, range(20, 200))
    both(sender, receiver, range(200, 220))
    assert (path.row(100)["flags"], path.row(100)["revision"], path.row(100)["moves"]) == ([], 1, {})


def test_nobody_waits_for_an_end_whose_clock_is_far_behind() -> None:
    """What it tells could change nothing any more."""
    path, sender, receiver = pair(Path(senders=2))
    wrong = path.end("sender", "wrong", start=-3_600.0)
    for second in range(30):
        both(sender, receiver, range(second, second + 1))
        wrong.alive(second - 3_600.0)
    assert path.revisions(0) == path.revisions(10) == [0]


@pytest.mark.parametrize("step", [-300.0, 3_600.0])
def test_a_step_of_the_brokers_clock_makes_nobody_gone_and_keeps_nobody(step: float) -> None:
    """Time goes on by small steps only."""
    path, sender, receiver = pair()
    both(sender, receiver, range(20))
    before = len(path.rows)
    path.step_broker_clock(step)
    receive(receiver, sender, range(20, 70))
    assert len(path.rows) == before
    receive(receiver, sender, range(70, 90))
    assert len(path.rows) > before


def test_kept_state_goes_on_with_the_append_time_that_has_passed() -> None:
    """An outage is none of it, before as after a restart of the job."""
    path, sender, receiver = pair()
    both(sender, receiver, range(OUTAGE.start))
    path.outage(OUTAGE.stop)
    receive(receiver, sender, range(20, 300))
    kept = path.state.dirty_windows()
    path.state = PathState.load("p", RULES, path.state.dump_header(), kept.get)
    receive(receiver, sender, range(300, 620))
    send(sender, OUTAGE)
    both(sender, receiver, range(620, 660))
    assert path.rows == undisturbed(5)
