"""Rows kept without Spark: read back as they were, in few files, whatever happens to who writes them."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attribution_rows import episode, hop
from made_rows import LENGTH, SECOND, START, window

from collectors.contract import attribution_rows, window_rows
from collectors.contract.events import Event
from deploy.errors import Problem
from deploy.parts.row_archive import RowArchive
from streaming.archive import detected
from streaming.archive.layout import ATTRIBUTION
from streaming.archive.read import Question, read
from streaming.archive.write import MERGE_FILES, ArchiveWriter
from streaming.exporter.event_effects import Effect

ALL = Question(0, 1 << 62)
MIDNIGHT = (1_700_006_400 * SECOND - START) // LENGTH  # the number of the first window of another day


def encoded(number: int, path: str = "east-west", **fields: object) -> bytes:
    return window_rows.encode(window(path, number, **fields))


def stored(folder: Path, question: Question = ALL) -> list[bytes]:
    return [row["row"].encode() for row in read(str(folder), question)]


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.parquet"))


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    """By path and window, on both sides of a midnight, with the columns that questions are asked by."""
    rows = [encoded(number, path) for number in range(MIDNIGHT - 2, MIDNIGHT + 2) for path in ("a", "b")]
    rows.append(encoded(MIDNIGHT, "c", values_ns=[], lost=7, unobserved=1))
    ArchiveWriter(tmp_path).write(rows)
    assert stored(tmp_path) == sorted(rows, key=_by_day)
    assert [file.parent.name for file in files(tmp_path)] == ["date=2023-11-14", "date=2023-11-15"]
    (row,) = read(str(tmp_path), Question(0, 1 << 62, ("c",)))
    assert {name: value for name, value in row.items() if name != "row"} == {
        "path": "c",
        "mesh": "prod",
        "window_start_ns": 1_700_006_400 * SECOND,
        "window_ns": 5 * SECOND,
        "rules": "0a1b2c3d",
        "revision": 0,
        "complete": False,
        "sent": 8,
        "received": 0,
        "refused": 0,
        "lost": 7,
        "unobserved": 1,
        "p50_ns": None,
        "p99_ns": None,
        "max_ns": None,
    }


def _by_day(row: bytes) -> tuple[bool, str, int]:
    value = json.loads(row)
    start_ns = value["window_start_ns"]
    return start_ns >= 1_700_006_400 * SECOND, value["path"], start_ns


def test_files_stay_few(tmp_path: Path) -> None:
    """Of 200 that came during a day three are merged and the rest small; when the day is over, it is one."""
    now = [START / SECOND]
    writer = ArchiveWriter(tmp_path, lambda: now[0])
    rows = [encoded(number) for number in range(200)]
    for row in rows:
        writer.write([row])
        writer.merge()
        assert len(files(tmp_path)) < MERGE_FILES + 3
    assert len(files(tmp_path)) == 200 // MERGE_FILES + 200 % MERGE_FILES
    assert stored(tmp_path) == rows
    now[0] = time.time() + 86_400  # by the files' own times the day is over since long
    writer.merge()
    assert len(files(tmp_path)) == 1
    assert stored(tmp_path) == rows


@pytest.mark.slow
def test_who_is_killed_leaves_no_half_file(tmp_path: Path) -> None:
    """Killed at any moment, twice: all that is read is whole rows, and what was done before is there."""
    code = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[2]]
from test_write import encoded
from streaming.archive.write import ArchiveWriter
writer = ArchiveWriter(Path(sys.argv[1]))
first = int(sys.argv[3])
for number in range(first, first + 100_000):
    writer.write([encoded(number, values_ns=[])])
    writer.merge()
    print(number, flush=True)
"""
    done = -1
    for wanted in (30, 150):
        command = [sys.executable, "-c", code, str(tmp_path), str(Path(__file__).parent), str(done + 1)]
        path = os.pathsep.join(sys.path)
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
        )
        assert process.stdout
        while done < wanted:
            done = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        done = max([done, *map(int, process.stdout.read().split())])
        process.wait()
        numbers = [(json.loads(row)["window_start_ns"] - START) // LENGTH for row in stored(tmp_path)]
        assert numbers[: done + 1] == list(range(done + 1))
        assert len(numbers) <= done + 2  # the last one may be there, though nobody said so
    half = next(iter(tmp_path.rglob("date=*"))) / ".run-x-small-1.unfinished"
    half.write_bytes(b"PAR1")
    assert stored(tmp_path)
    os.utime(half, (1, 1))
    ArchiveWriter(tmp_path)
    assert not half.exists()


@contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process may grow beyond 100 bytes, as on a disk that has no more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_told_and_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Once in the log and at /-/ready; rows wait, and are all there when there is room again."""
    archive = RowArchive(tmp_path, list, every_seconds=0.01)
    archive.start()
    with full_disk():
        archive.add(encoded(0))
        deadline = time.monotonic() + 30
        while archive.not_ready() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        archive.add(encoded(1))
        time.sleep(0.1)
        said = archive.not_ready()
    assert said is not None
    assert said.startswith(f"the archive {tmp_path} cannot be written: ")
    archive.close()
    assert archive.not_ready() is None
    assert stored(tmp_path) == [encoded(0), encoded(1)]
    assert sum("cannot be written" in record.message for record in caplog.records) == 1
    assert [file for file in tmp_path.rglob(".*") if file.is_file()] == []


def test_what_waits_for_a_disk_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The oldest rows are given up; how many is told when the disk takes rows again."""
    caplog.set_level("INFO", "inflight")
    rows = [encoded(number) for number in range(10)]
    monkeypatch.setattr("deploy.parts.row_archive.MAX_BYTES", sum(map(len, rows[:4])))
    archive = RowArchive(tmp_path, list, every_seconds=0.01)
    with full_disk():
        archive.start()
        archive.add(rows[0])
        while archive.not_ready() is None:
            time.sleep(0.01)
        for row in rows[1:]:
            archive.add(row)
    archive.close()
    kept = stored(tmp_path)
    assert 3 <= len(kept) <= 4
    assert kept == rows[-len(kept) :]
    assert f"is written again; {10 - len(kept)} rows were given up" in caplog.text


def test_rows_that_name_hops_are_kept_beside(tmp_path: Path) -> None:
    """In a folder of their own; of each episode the highest revision is read, whatever came last."""
    archive = RowArchive(tmp_path, list)
    first, second = episode(), episode(number=1)
    revised = episode(revision=2, hops=[hop(said=1)])
    for row in (revised, first, second, episode("other"), second | {"revision": 1, "merged_into": START}):
        archive.add_attribution(attribution_rows.encode(row))
    archive.add(encoded(0))
    archive.close()
    assert stored(tmp_path) == [encoded(0)]
    found = list(read(str(tmp_path), Question(0, 1 << 62, ("east-west",)), ATTRIBUTION))
    assert [(row["kind"], row["episode_ns"], row["revision"], row["lost"]) for row in found] == [
        ("loss", START, 2, 4),
        ("loss", START + LENGTH, 1, 214),
    ]
    assert attribution_rows.decode(found[0]["row"].encode()) == revised
    assert list(read(str(tmp_path), Question(0, START), ATTRIBUTION)) == []


def test_an_archive_of_before_has_no_hops(tmp_path: Path) -> None:
    """That is no error."""
    ArchiveWriter(tmp_path).write([encoded(0)])
    assert list(read(str(tmp_path), ALL, ATTRIBUTION)) == []


def test_a_folder_where_nothing_can_be_written(tmp_path: Path) -> None:
    """Refused at the start, in one sentence."""
    (tmp_path / "file").write_text("")
    with pytest.raises(Problem, match="file/x cannot be written: Not a directory; let this user write there"):
        RowArchive(tmp_path / "file" / "x", list)


def test_when_events_were_seen_is_kept(tmp_path: Path) -> None:
    """Beside the rows, also of events of before a restart; what is no such file is as if there were none."""
    event = Event(START, START + SECOND, "fault", ("a*",), "cut", "cut", "A--B")
    blind = Event(START + 1, None, "deploy", (), "x")
    archive = RowArchive(tmp_path, lambda: [(event, Effect(detected_ns=5)), (blind, Effect())])
    archive.close()
    later = Event(START + 2, None, "deploy", (), "y")
    RowArchive(tmp_path, lambda: [(later, Effect(detected_ns=6))]).close()
    assert detected.read(tmp_path) == {event.key: 5, later.key: 6}
    for text in (
        "{",
        "[" * 10_000,
        '[{"at_ns": -1}, 5]',
        "7",
        '[{"at_ns":1,"kind":"fault","paths":[7],"detected_ns":1}]',
    ):
        (tmp_path / detected.FILE).write_text(text)
        assert detected.read(tmp_path) == {}
