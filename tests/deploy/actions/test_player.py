"""A story: each action in its time, none waiting for another, each undone, told and marked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from acting import PATIENCE_SECONDS, MovedClock, WritingExecutor, action

from collectors.contract.events import Event
from deploy.actions.notes import Notes
from deploy.actions.performance import Done
from deploy.actions.player import play
from deploy.actions.steps import FailedError, NotBegunError, Within
from deploy.errors import Problem
from deploy.topology.action import Action


class Story:
    """A play in a thread, with what it did, told and marked."""

    def __init__(
        self, folder: Path, *actions: Action, doing: Callable[[str, Within], None] = lambda _t, _w: None
    ) -> None:
        self.clock = MovedClock()
        self.executor = WritingExecutor(self.clock, doing)
        self.stopping = threading.Event()
        self.told: list[str] = []
        self.marked: list[Event] = []
        self.became: list[Done] = []
        self._actions, self._notes = actions, Notes(folder)
        self._thread = threading.Thread(target=self._play, daemon=True)

    def begin(self) -> Story:
        self._thread.start()
        return self

    def end(self) -> Story:
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()
        return self

    def _play(self) -> None:
        self.became = play(
            self._actions,
            self.executor,
            self.marked.append,
            self.stopping,
            self.told.append,
            notes=self._notes,
            clock=self.clock,
        )


def test_actions_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """The second one begins while the first goes on, and each is undone in its own time."""
    kill = action("kill", "B", after="1s", lasts="3s")
    delay = action("delay", "B--A", ms=5, after="2s", lasts="5s")
    story = Story(tmp_path, delay, kill).begin()
    for waiting in (1, 2, 2, 1):
        story.clock.step(waiting)
    story.end()
    assert story.executor.done == [(1, "kill B"), (2, "delay A--B"), (4, "start B"), (7, "clear A--B")]
    assert story.told == [
        "router B killed",
        "link A--B delayed by 5 ms",
        "router B is back after 3.0 s",
        "link A--B is as it was after 5.0 s",
    ]


def test_an_event_at_the_begin_and_again_with_its_end(tmp_path: Path) -> None:
    """With the same begin, so that who reads them knows that they are one."""
    story = Story(tmp_path, action("kill", "B", lasts="8s", kind="maintenance")).begin()
    story.clock.step(1)
    began, ended = story.end().marked
    began_ns = 1_800_000_000_000_000_000
    assert began == Event(began_ns, None, "maintenance", (), "router B killed", "kill", "B")
    assert ended == Event(
        began_ns, began_ns + 8_000_000_000, "maintenance", (), "router B down for 8.0 s", "kill", "B"
    )
    (done,) = story.became
    assert (done.began_ns, done.ended_ns, done.problem, done.left) == (
        began.at_ns,
        ended.until_ns,
        None,
        None,
    )
    assert [result.output for result in done.results] == ["kill B was done", "start B was done"]


def test_whoever_stops_it_gets_everything_undone(tmp_path: Path) -> None:
    """What has begun is undone at once, and what has not does not begin."""
    stands = action("pause", "A")
    later = action("kill", "B", after="10s")
    story = Story(tmp_path, stands, later).begin()
    story.clock.wait_for(2)
    story.stopping.set()
    story.end()
    assert [text for _, text in story.executor.done] == ["pause A", "resume A"]
    assert len(story.became) == 1


def test_one_that_hangs_keeps_no_other_waiting(tmp_path: Path) -> None:
    """The others are done and undone while it still tries."""
    released = threading.Event()

    def doing(text: str, _within: Within) -> None:
        if text == "kill A":
            assert released.wait(PATIENCE_SECONDS)

    story = Story(
        tmp_path, action("kill", "A", lasts="1s"), action("kill", "B", lasts="1s"), doing=doing
    ).begin()
    story.clock.step(1)
    while len(story.executor.done) < 2:
        assert not story.stopping.wait(0.01)
    assert [text for _, text in story.executor.done] == ["kill B", "start B"]
    released.set()
    story.clock.step(1)
    story.end()
    assert [text for _, text in story.executor.done][2:] == ["kill A", "start A"]


def test_what_failed_is_undone_and_the_others_go_on(tmp_path: Path) -> None:
    """It may have been done in part. Its event ends, and says that it failed."""

    def doing(text: str, _within: Within) -> None:
        if text == "stop A":
            raise FailedError("the host is on fire")

    story = Story(tmp_path, action("stop", "A", lasts="5s"), action("restart", "B"), doing=doing).begin()
    story.end()
    assert sorted(text for _, text in story.executor.done) == ["restart B", "start A"]
    assert "router A: stop failed: the host is on fire" in story.told
    assert "router A: whatever was done of it is undone" in story.told
    failed, fine = story.became
    assert (failed.problem, failed.left) == ("router A: stop failed: the host is on fire", None)
    assert fine.problem is None
    texts = {event.text for event in story.marked if event.until_ns is not None}
    assert texts == {"router A: stop failed", "router B restarted in 0.0 s"}


def test_what_did_not_begin_is_not_undone(tmp_path: Path) -> None:
    """To start what was never stopped would be an action of its own."""

    def doing(_text: str, _within: Within) -> None:
        raise NotBegunError("no such program")

    story = Story(tmp_path, action("stop", "A", lasts="5s"), doing=doing).begin()
    story.end()
    assert story.told == ["router A: stop failed: no such program"]


def test_an_undo_that_fails_is_told_loudly(tmp_path: Path) -> None:
    """And the event has no end, as it goes on."""

    def doing(text: str, _within: Within) -> None:
        if text == "start A":
            raise FailedError("no answer")

    story = Story(tmp_path, action("kill", "A", lasts="5s"), doing=doing).begin()
    story.clock.step(1)
    story.end()
    assert story.told[-1] == "router A IS NOT AS IT WAS: kill could not be undone: no answer"
    assert story.became[0].left == story.told[-1]
    assert [event.until_ns for event in story.marked] == [None]


def test_a_story_that_cannot_be_is_not_begun(tmp_path: Path) -> None:
    """All its steps are known before the first of them is done."""
    clock = MovedClock()

    class Without(WritingExecutor):
        def steps(self, action: Action) -> object:  # type: ignore[override]  # it only raises
            if action.what == "Z":
                raise Problem("there is no Z")
            return super().steps(action)

    executor = Without(clock)
    with pytest.raises(Problem, match="there is no Z"):
        play(
            [action("kill", "A"), action("kill", "Z", after="1h")],
            executor,  # type: ignore[arg-type]  # as above
            lambda _event: None,
            threading.Event(),
            lambda _text: None,
            notes=Notes(tmp_path),
            clock=clock,
        )
    assert executor.done == []
