"""The file of events, as `inflight run` reads it while others write, cut and replace it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from collectors.config.load import parse
from collectors.config.model import Config
from collectors.contract.events import Event
from deploy import marks
from deploy.errors import Problem
from deploy.parts.event_file import EventFile


def event(number: int) -> Event:
    return Event(1_800_000_000_000_000_000 + number, None, "fault", (), f"event {number}", "kill", "B")


def config(folder: Path) -> Config:
    return parse(f"version: 1\nsite: here\nstate: {folder}\n", "c.yaml")


class Reader:
    """An EventFile that is read when the test says so."""

    def __init__(self, folder: Path) -> None:
        self.taken: list[Event] = []
        self.refused = 0
        self.file = folder / marks.FILE
        self.events = EventFile(self.file, self.taken.append, self._refuse)

    def _refuse(self) -> None:
        self.refused += 1

    def numbers(self) -> list[int]:
        """The numbers of the events that are new."""
        self.events.read()
        found = [taken.at_ns - event(0).at_ns for taken in self.taken]
        self.taken.clear()
        return found


def test_events_come_as_they_are_written(tmp_path: Path) -> None:
    """Those that were there before, and each new one once; a file that is not there yet is waited for."""
    reader = Reader(tmp_path)
    assert reader.numbers() == []
    marks.put(config(tmp_path), event(1))
    marks.put(config(tmp_path), event(2))
    assert reader.numbers() == [1, 2]
    assert reader.numbers() == []
    marks.put(config(tmp_path), event(3))
    assert reader.numbers() == [3]
    assert oct(reader.file.stat().st_mode & 0o777) == "0o600"


def test_half_a_line_is_waited_for(tmp_path: Path) -> None:
    """Its writer may be at it."""
    reader = Reader(tmp_path)
    marks.put(config(tmp_path), event(1))
    line = reader.file.read_bytes()
    reader.file.write_bytes(line + line[:20])
    assert reader.numbers() == [1]
    with reader.file.open("ab") as file:
        file.write(line[20:])
    assert (reader.numbers(), reader.refused) == ([1], 0)


def test_what_a_writer_did_not_finish_harms_no_other(tmp_path: Path) -> None:
    """The next event begins on a line of its own."""
    reader = Reader(tmp_path)
    reader.file.write_bytes(b'{"v":1,"at_')
    marks.put(config(tmp_path), event(1))
    assert (reader.numbers(), reader.refused) == ([1], 1)


def test_rubbish_is_counted(tmp_path: Path) -> None:
    """Each line of it, however long, and what follows is read."""
    reader = Reader(tmp_path)
    rubbish = [b"\xff\xfe", b"[]", b'{"v":2}', b"x" * 3_000_000, b"{" * 100_000, b""]
    reader.file.write_bytes(b"\n".join([*rubbish, b""]))
    marks.put(config(tmp_path), event(7))
    assert (reader.numbers(), reader.refused) == ([7], 5)


def test_a_file_that_is_cut_or_replaced(tmp_path: Path) -> None:
    """It is read from its begin."""
    reader = Reader(tmp_path)
    for number in range(5):
        marks.put(config(tmp_path), event(number))
    assert reader.numbers() == [0, 1, 2, 3, 4]
    os.truncate(reader.file, 0)
    marks.put(config(tmp_path), event(5))
    assert reader.numbers() == [5]
    reader.file.rename(tmp_path / "old")
    for number in (6, 7, 8):
        marks.put(config(tmp_path), event(number))
    assert reader.numbers() == [6, 7, 8]
    reader.file.unlink()
    assert reader.numbers() == []
    marks.put(config(tmp_path), event(9))
    assert reader.numbers() == [9]


def test_the_end_of_a_huge_file_is_read(tmp_path: Path) -> None:
    """What is long past is not: the exporter keeps only so many."""
    reader = Reader(tmp_path)
    with reader.file.open("wb") as file:
        for _ in range(60):
            file.write(b"y" * 99_999 + b"\n")
    marks.put(config(tmp_path), event(1))
    assert reader.numbers() == [1]
    assert reader.refused < 60


def test_a_worker_reads_it(tmp_path: Path) -> None:
    """Without being asked."""
    reader = Reader(tmp_path)
    reader.events.start()
    try:
        marks.put(config(tmp_path), event(1))
        deadline = time.monotonic() + 60
        while not reader.taken:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert reader.events.not_ready() is None
    finally:
        reader.events.close()


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    """It is told with its name."""
    (tmp_path / "state").write_text("no folder")
    with pytest.raises(Problem, match=r"^the event cannot be written to .*/state/events.jsonl: "):
        marks.put(config(tmp_path / "state"), event(1))
