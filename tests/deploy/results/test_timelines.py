"""Lines over time from the files of a run; what cannot be used is told, and the rest is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_results import WARM_UP_WINDOWS, WINDOW_SECONDS, result_folder
from made_rows import SECOND, START, window

from collectors.contract import window_rows
from dashboards.report.model import Timeline
from deploy.results import folder, tables, windows
from deploy.results.timelines import timeline
from streaming.archive.layout import WINDOWS


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return result_folder(tmp_path / "r", repetitions=1, files=True, lost=7)


def of(made: Path) -> tuple[Timeline, list[str]]:
    found = folder.read(made)
    left_out: list[str] = []
    return timeline(found.run_folder(found.runs[0]), found.runs[0], left_out), left_out


def test_all_that_there_is(made: Path) -> None:
    """Latency and loss by window, rate by second, queues and memory by poll, whose rows are added up."""
    found, left_out = of(made)
    assert left_out == []
    p50, p99 = found.latency_ns
    assert (p50.name, p99.name) == ("p50", "p99")
    assert list(p50.seconds[:3]) == [0, WINDOW_SECONDS, 2 * WINDOW_SECONDS]
    assert len(p50.values) == WARM_UP_WINDOWS + 36
    (lost,) = found.lost
    assert [(int(at), int(count)) for at, count in zip(lost.seconds, lost.values, strict=True) if count] == [
        ((WARM_UP_WINDOWS + 18) * WINDOW_SECONDS, 7)
    ]
    assert {line.name for line in found.rate_per_second} == {"asked", "sent", "received"}
    memory = {line.name: line for line in found.memory_bytes}
    assert list(memory["A"].values[:2]) == [30_000_000, 30_005_000]
    (queued,) = found.queued
    assert queued.name == "links of A"
    assert set(queued.values) == {3}


def test_without_windows_the_summary_serves(made: Path) -> None:
    """A baseline has no Parquet: the steady phase is in the summary."""
    for file in (made / "runs/0001").glob("*.parquet"):
        file.unlink()
    found, left_out = of(made)
    assert left_out == []
    assert found.latency_ns[0].seconds[0] == WARM_UP_WINDOWS * WINDOW_SECONDS
    assert len(found.latency_ns[0].values) == 36


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "windows.parquet",
            b"PAR1 not really",
            "windows.parquet is left out: it is no Parquet, or not whole",
        ),
        ("router.parquet", b"", "router.parquet is left out: it is no Parquet, or not whole"),
        ("rate.csv", b"a,b\n1,2\n", "rate.csv is left out: it has no column second"),
        (
            "rate.csv",
            b"second,due,sent,received\n1,2,3,x\n2,2,3,x\n3,2,3,x\n",
            "rate.csv is left out: could not",
        ),
    ],
)
def test_a_file_that_is_none(made: Path, name: str, content: bytes, said: str) -> None:
    """Is told, with its run, and the other files are used."""
    (made / "runs/0001" / name).write_bytes(content)
    found, left_out = of(made)
    assert len(left_out) == 1
    assert said in left_out[0]
    assert left_out[0].startswith("run 1: ")
    assert found.latency_ns
    assert found.rate_per_second


def test_a_file_that_is_too_large_is_not_read(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither packed nor unpacked."""
    monkeypatch.setattr(tables, "MAX_UNPACKED_BYTES", 1_000)
    assert "it unpacks to" in of(made)[1][0]
    monkeypatch.setattr(tables, "MAX_FILE_BYTES", 1_000)
    assert "it has 0 MB; 0 is the most" in of(made)[1][0]


def _windows(file: Path, *found: window_rows.WindowRow) -> None:
    columns = [
        {
            "path": row["path"],
            "window_start_ns": row["window_start_ns"],
            "window_ns": row["window_ns"],
            "revision": row["revision"],
            "received": row["classes"]["received"],
            "lost": row["classes"]["lost"],
            "p50_ns": row["response"]["percentiles"]["50"] if row["response"] else None,
            "p99_ns": row["response"]["percentiles"].get("99") if row["response"] else None,
            "row": window_rows.encode(row).decode(),
        }
        for row in found
    ]
    pq.write_table(pa.Table.from_pylist(columns, WINDOWS.schema), file)


def test_paths_are_merged_by_their_histograms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The p99 of 900 fast and 100 slow messages is a slow one, their p50 a fast one: no mean of two."""
    slow, fast = [50_000_000] * 100, [1_000_000] * 900
    file = tmp_path / "windows.parquet"
    _windows(file, window("fast", values_ns=fast), window("slow", values_ns=slow))
    found = windows.lines(file, START)
    p50, p99 = (found["latency_ns"][name].values[0] for name in ("p50", "p99"))
    assert p50 == pytest.approx(1_000_000, rel=0.001)
    assert p99 == pytest.approx(50_000_000, rel=0.001)
    assert found["rate_per_second"]["received"].values[0] == 1_000 / 5
    monkeypatch.setattr(windows, "MAX_MERGED", 1)
    many = windows.lines(file, START)["latency_ns"]
    assert list(many) == ["p50 of the slowest path", "p99 of the slowest path"]
    assert many["p50 of the slowest path"].values[0] == 50_000_000


def test_the_last_revision_counts(tmp_path: Path) -> None:
    """In whatever order they stand in the file; a window in which nothing came is a gap."""
    file = tmp_path / "windows.parquet"
    _windows(
        file,
        window(lost=5, revision=1),
        window(lost=9),
        window(number=1, values_ns=[], lost=50),
    )
    found = windows.lines(file, START - SECOND)
    assert list(found["lost"]["lost"].values) == [5, 50]
    assert list(found["lost"]["lost"].seconds) == [1, 6]
    assert np.isnan(found["latency_ns"]["p50"].values[1])
