"""When a run goes on to what, by how its generators say they stand."""

from __future__ import annotations

from typing import Any

from deploy.loads.phases import Phases

PATIENCE, SETTLE = 30.0, 10.0


def stand(
    sent: int = 0, received: int = 0, *, finished: bool = False, not_ready: str | None = None, **more: int
) -> dict[str, Any]:
    paths = {"p": {"sent": sent, "received": received, **more}}
    return {"not_ready": not_ready, "finished": finished, "paths": paths}


def phases() -> Phases:
    return Phases(settle_seconds=SETTLE, patience_seconds=PATIENCE)


def sending() -> Phases:
    found = phases()
    assert found.step(0, [stand()]) == [("go",)]
    return found


def test_all_begin_together() -> None:
    """Not before the last of them has its links."""
    run = phases()
    assert run.step(0, [{}, stand()]) == []
    assert run.step(1, [stand(not_ready="no link"), stand()]) == []
    assert run.step(2, [stand(), stand()]) == [("go",)]
    assert run.step(3, [stand(), stand()]) == []
    assert run.name == "sending"


def test_it_ends_when_all_is_accounted_for() -> None:
    """One process sent and the other received: together nothing is missing."""
    run = phases()
    run.step(0, [stand(), stand()])
    assert run.step(1, [stand(5), stand(0, 3, finished=True)]) == []
    assert run.step(2, [stand(9, finished=True), stand(0, 8, finished=True)]) == [("stop",)]
    assert run.step(3, [stand(9, finished=True), stand(0, 9, finished=True)]) == []
    assert run.step(4, [stand(9, finished=True), stand(0, 9, finished=True)]) == [("end",)]
    assert run.ending
    assert run.stopped is None


def test_what_is_missing_is_waited_for_as_long_as_settling_takes() -> None:
    """And no longer: it is lost then."""
    run = sending()
    run.step(1, [stand(9, 8, finished=True)])
    assert run.step(5, [stand(9, 8, finished=True)]) == []
    assert run.step(1 + SETTLE + 2, [stand(9, 8, finished=True)]) == [("end",)]
    assert run.stopped is None


def test_a_generator_that_says_nothing_is_given_up_before_the_end() -> None:
    """Until then the others go on to tell of themselves, so that windows can be final without it."""
    run = sending()
    silent = {**stand(9, 8, finished=True), "silent": True}
    run.step(1, [silent])
    assert run.step(1 + SETTLE + 3, [silent]) == []
    assert run.step(1 + SETTLE + 9, [silent]) == [("end",)]


def test_what_still_comes_in_is_waited_for() -> None:
    run = sending()
    run.step(1, [stand(9, 1, finished=True)])
    for number in range(2, 9):
        assert run.step(number * 8, [stand(9, number, finished=True)]) == []


def test_a_path_that_got_too_much_does_not_stand_for_another() -> None:
    """What one path got twice is not what the other one misses."""
    run = sending()
    twice = {"p": {"sent": 5, "received": 10}, "q": {"sent": 5, "received": 0}}
    now = {"not_ready": None, "finished": True, "paths": twice}
    run.step(1, [now])
    assert run.step(3, [now]) == []


def test_what_was_given_back_is_not_waited_for() -> None:
    run = sending()
    run.step(1, [stand(9, 4, finished=True, refused=5)])
    assert run.step(2, [stand(9, 4, finished=True, refused=5)]) == [("end",)]


def test_nothing_is_waited_for_without_an_end() -> None:
    """A peer that hangs: after the patience it is told, and why."""
    run = sending()
    run.step(1, [stand(5, 5)])
    assert run.step(PATIENCE, [stand(5, 5)]) == []
    stuck = stand(5, 5, not_ready="the peer hung up")
    assert run.step(PATIENCE + 2, [stuck]) == [("stop",)]
    assert run.stopped == f"nothing moved for {PATIENCE + 1:.0f} s: the peer hung up"


def test_a_peer_that_is_not_there_is_told() -> None:
    run = phases()
    run.step(0, [stand(not_ready="connection refused")])
    assert run.step(PATIENCE + 1, [stand(not_ready="connection refused")]) == [("end",)]
    assert run.stopped == "nothing was sent: connection refused"


def test_a_generator_that_says_nothing_is_told() -> None:
    run = phases()
    run.step(0, [{}])
    assert run.step(PATIENCE + 1, [{}]) == []
    assert run.step(61, [{}]) == [("end",)]
    assert run.stopped == "nothing was sent: no generator answers"


def test_the_patience_with_peers_begins_when_generators_are_there() -> None:
    """Generators may take a minute to come up on a busy machine."""
    run = phases()
    run.step(0, [{}, stand(not_ready="no link")])
    assert run.step(50, [stand(not_ready="no link"), stand()]) == []
    assert run.step(50 + PATIENCE, [stand(not_ready="no link"), stand()]) == []
    assert run.step(51 + PATIENCE, [stand(not_ready="no link"), stand()]) == [("end",)]
    assert run.stopped == "nothing was sent: no link"


def test_who_is_told_to_stop_waits_for_what_is_on_its_way() -> None:
    run = sending()
    run.stop("ended by its user")
    assert run.step(1, [stand(9, 8)]) == [("stop",)]
    assert run.step(2, [stand(9, 9, finished=True)]) == []
    assert run.step(3, [stand(9, 9, finished=True)]) == [("end",)]
    assert run.stopped == "ended by its user"


def test_who_is_told_to_stop_before_it_began_ends() -> None:
    run = phases()
    run.stop("ended by its user")
    assert run.step(0, [stand(not_ready="no link")]) == [("end",)]
