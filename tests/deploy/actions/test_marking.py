"""Marks beside actions: what is slow or refuses keeps none of them waiting, and is told."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from acting import MovedClock, WritingExecutor, action
from helpers import free_port

from collectors.config.load import parse
from collectors.config.model import Config
from collectors.contract.events import Event
from deploy.actions import marking
from deploy.actions.marking import Marks
from deploy.actions.notes import Notes
from deploy.actions.player import play
from deploy.errors import Problem


def config(more: str = "") -> Config:
    return parse(f"version: 1\nsite: here\n{more}", "c.yaml")


def restart(tmp_path: Path, marks: Marks, where: Config) -> tuple[list[str], list[str]]:
    """What is done, and what is told, with these marks."""
    told: list[str] = []
    clock = MovedClock()
    executor = WritingExecutor(clock)
    mark = marks.to(where)
    play(
        [action("restart", "B")],
        executor,
        mark,
        threading.Event(),
        told.append,
        notes=Notes(tmp_path),
        clock=clock,
    )
    return [text for _, text in executor.done], told


def test_one_that_hangs_keeps_nothing_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The action is over while its first event is not written yet; what is given up is told."""
    monkeypatch.setattr(marking, "_END_SECONDS", 0.2)
    released = threading.Event()

    def put(_config: Config, _event: Event) -> None:
        released.wait(60)

    told: list[str] = []
    with Marks(told.append, put) as marks:
        assert restart(tmp_path, marks, config())[0] == ["restart B"]
        assert not released.is_set()
    released.set()
    assert told == ["2 events were not written within 0.2 s, and are given up"]


def test_what_is_refused_is_told(tmp_path: Path) -> None:
    """Each event with the reason."""
    told: list[str] = []

    def put(_config: Config, _event: Event) -> None:
        raise Problem("no room")

    with Marks(told.append, put) as marks:
        restart(tmp_path, marks, config())
    assert told == [
        "the event 'router B restarts' is not marked: no room",
        "the event 'router B restarted in 0.0 s' is not marked: no room",
    ]


@pytest.mark.slow
def test_a_kafka_that_is_not_there(tmp_path: Path) -> None:
    """The action is done and over long before Kafka is given up."""
    told: list[str] = []
    where = config(f"kafka: {{servers: ['127.0.0.1:{free_port()}']}}\n")
    with Marks(told.append) as marks:
        done, _ = restart(tmp_path, marks, where)
        assert (done, told) == (["restart B"], [])
    assert len(told) == 2
    assert all("is not marked: Kafka at 127.0.0.1:" in text for text in told)


def test_events_are_written_in_order(tmp_path: Path) -> None:
    """All of them, before the `with` ends."""
    put: list[str] = []
    with Marks(lambda _text: None, lambda _config, event: put.append(event.text)) as marks:
        restart(tmp_path, marks, config())
    assert put == ["router B restarts", "router B restarted in 0.0 s"]
