"""Threads that are to live as long as their process, and troubles as the log tells them."""

from __future__ import annotations

import logging
import threading

import pytest
from helpers import wait_until

from collectors.process import worker as worker_module
from collectors.process.trouble import Trouble
from collectors.process.worker import Worker


class _Work:
    """Fails so many times, and then goes on until it is told to end."""

    def __init__(self, failures: int) -> None:
        self.began = 0
        self._failures = failures
        self.stop = threading.Event()

    def __call__(self) -> None:
        self.began += 1
        if self.began <= self._failures:
            raise ZeroDivisionError("by a test\nin two lines")
        self.stop.wait()


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "_BACKOFF_SECONDS", (0.01,))


def test_what_fails_is_told_and_begins_again(caplog: pytest.LogCaptureFixture) -> None:
    """Once in the log however often; the problem stays until it has been at work for a while."""
    work = _Work(3)
    worker = Worker("w", work)
    assert worker.problem is None
    worker.start()
    wait_until(lambda: work.began == 4, 10, "it to be at work")
    assert worker.problem == "the thread w failed: ZeroDivisionError: by a test"
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "the thread w failed: ZeroDivisionError: by a test; it begins again" in caplog.text
    work.stop.set()
    assert worker.join(10)
    assert worker.ended.is_set()


def test_what_is_at_work_again_has_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while, that is."""
    monkeypatch.setattr(worker_module, "_STEADY_SECONDS", 0.2)
    work = _Work(1)
    worker = Worker("w", work)
    worker.start()
    wait_until(lambda: work.began == 2, 10, "it to be at work")
    wait_until(lambda: worker.problem is None, 10, "the problem to be over")
    work.stop.set()
    assert worker.join(10)


def test_an_end_can_be_final() -> None:
    """What cannot go on does not begin again; its owner sees the end and why."""
    work = _Work(1)
    worker = Worker("w", work, again=False)
    worker.start()
    assert worker.ended.wait(10)
    assert worker.problem == "the thread w failed: ZeroDivisionError: by a test"
    assert work.began == 1


def test_nothing_begins_again_once_it_is_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while it waits to begin again; and one that was never started can be waited for, too."""
    monkeypatch.setattr(worker_module, "_BACKOFF_SECONDS", (600.0,))
    work = _Work(1)
    worker = Worker("w", work)
    assert worker.join(10)
    worker = Worker("w", work)
    worker.start()
    wait_until(lambda: worker.problem, 10, "the failure")
    assert worker.join(10)
    assert work.began == 1


def test_a_thread_that_asks_for_the_end_of_all_is_told_too() -> None:
    """`sys.exit` in a thread ends that thread alone, and the threading module says nothing of it."""
    worker = Worker("w", lambda: (_ for _ in ()).throw(SystemExit(3)), again=False)
    worker.start()
    assert worker.ended.wait(10)
    assert worker.problem == "the thread w failed: SystemExit: 3"


def test_a_trouble_is_logged_when_it_begins_and_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    """Each cause once, also where two take turns, and only so many."""
    caplog.set_level(logging.INFO, "inflight")
    trouble = Trouble(logging.getLogger("inflight.test"))
    trouble.over("nothing was wrong")
    for _ in range(100):
        trouble.tell("this")
        trouble.tell("that")
    assert trouble.text == "that"
    trouble.over("fine again")
    assert trouble.text is None
    trouble.tell("this")
    assert [record.message for record in caplog.records] == ["this", "that", "fine again", "this"]
    caplog.clear()
    for number in range(1_000):
        trouble.tell(f"number {number}")
    assert len(caplog.records) < 10
