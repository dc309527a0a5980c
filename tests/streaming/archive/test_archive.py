"""Final rows become Parquet, finished days become one file, and what is read back is what was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attribution_rows import episode
from click.testing import CliRunner
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from pyspark.sql import SparkSession
from synthetic import Flow

from collectors.config.paths import Rules
from collectors.contract import attribution_rows, window_rows
from collectors.contract.records import SECOND_NS
from deploy.commands.archive import command
from streaming.accounting import Accountant
from streaming.archive.layout import ATTRIBUTION
from streaming.archive.read import ArchiveError, Question, read
from streaming.archive.text import as_csv, as_hlog
from streaming.archive.write import ArchiveWriter
from streaming.spark import archive

pytestmark = pytest.mark.e2e

RULES = Rules(5 * SECOND_NS, 10 * SECOND_NS, 60 * SECOND_NS, 900 * SECOND_NS)
DATES = ("2023-11-14", "2023-11-15")
MIDNIGHT = 1_700_006_400  # between the two
ALL = Question(0, 1 << 62)


@pytest.fixture(scope="module")
def final() -> list[bytes]:
    """Rows of two paths on both sides of a midnight."""
    accountant = Accountant(lambda _: RULES)
    flows = [Flow(f"path {n}", 20, lose_every=3 + n, start_second=MIDNIGHT - 20) for n in range(2)]
    return [
        row
        for flow in flows
        for second in range(50)
        for value in flow.second(second)
        for row in accountant.feed(value, (MIDNIGHT + second) * SECOND_NS).rows
    ]


def land(spark: SparkSession, folder: Path, values: list[bytes]) -> None:
    """As the archive's query does with a batch."""
    source = spark.createDataFrame([(bytearray(value),) for value in values], "value binary")
    landing = archive.table(source).coalesce(1).write.mode("append").partitionBy("date")
    landing.parquet(f"{folder}/landing")


def stored(folder: Path, question: Question = ALL) -> list[bytes]:
    """What is read back, as the rows it was made of."""
    return [row["row"].encode() for row in read(str(folder), question)]


def test_what_is_read_is_what_was_written(spark: SparkSession, final: list[bytes], tmp_path: Path) -> None:
    """Each row once, whether landed twice or compacted, and rows that come after the compaction are added."""
    land(spark, tmp_path, [*final[:-3], *final[:4], b"nonsense", b'{"path":"other"}'])
    wanted = sorted(final[:-3])
    assert sorted(stored(tmp_path)) == wanted
    assert archive.compact(spark, str(tmp_path), before=DATES[1], settled_ms=0) == [DATES[0]]
    assert sorted(stored(tmp_path)) == wanted
    land(spark, tmp_path, final[-5:])
    assert sorted(stored(tmp_path)) == sorted(final)
    assert archive.compact(spark, str(tmp_path), before="2024-01-01", settled_ms=0) == list(DATES)
    assert archive.compact(spark, str(tmp_path), before="2024-01-01", settled_ms=0) == []
    assert sorted(stored(tmp_path)) == sorted(final)
    files = sorted(str(f.relative_to(tmp_path).parent) for f in tmp_path.rglob("*.parquet"))
    assert files == [f"daily/date={date}" for date in DATES]


def test_what_run_keeps_is_compacted_too(spark: SparkSession, final: list[bytes], tmp_path: Path) -> None:
    """The files that are written without Spark are an archive like any other."""
    land(spark, tmp_path, final[:5])
    ArchiveWriter(tmp_path).write(final[3:])
    assert sorted(stored(tmp_path)) == sorted(final)
    assert archive.compact(spark, str(tmp_path), before="2024-01-01", settled_ms=0) == list(DATES)
    assert sorted(stored(tmp_path)) == sorted(final)
    files = sorted(str(f.relative_to(tmp_path).parent) for f in tmp_path.rglob("*.parquet"))
    assert files == [f"daily/date={date}" for date in DATES]


def test_rows_that_name_hops_are_an_archive_beside(spark: SparkSession, tmp_path: Path) -> None:
    """Landed and compacted in the same way, in a folder of their own."""
    rows = [attribution_rows.encode(episode(number=number, revision=number % 2)) for number in range(4)]
    source = spark.createDataFrame([(bytearray(value),) for value in [*rows, b"nonsense"]], "value binary")
    landing = archive.table(source, ATTRIBUTION).coalesce(1).write.partitionBy("date")
    landing.parquet(f"{tmp_path}/attribution/landing")
    for _ in range(2):
        kept = read(str(tmp_path), ALL, ATTRIBUTION)
        assert [row["row"].encode() for row in kept] == rows
        archive.compact(spark, str(tmp_path), "2024-01-01", ATTRIBUTION, settled_ms=0)
    files = [str(f.relative_to(tmp_path).parent) for f in tmp_path.rglob("*.parquet")]
    assert files == [f"attribution/daily/date={DATES[0]}"]


def test_rows_that_are_none_end_nothing(spark: SparkSession, final: list[bytes], tmp_path: Path) -> None:
    """Of any type in any column: they are left out, and those beside them are kept."""
    good = window_rows.decode_window(final[0])
    values: list[object] = ["maybe", 10**400, 1 << 63, -(1 << 63), 1 << 62, -1, 1.5, [], {}, None, "\u0000"]
    bad = [
        json.dumps({**good, name: value, "hostile": True}).encode()
        for name in (
            "window_start_ns",
            "window_ns",
            "revision",
            "complete",
            "sent",
            "classes",
            "response",
            "path",
        )
        for value in values
    ]
    land(spark, tmp_path, [final[1], *bad, b"\xff\xfe", b"[" * 10_000, b'{"window_start_ns":1}', final[2]])
    kept = [row for row in stored(tmp_path) if b"hostile" not in row]
    assert sorted(kept) == sorted(final[1:3])
    dates = {folder.name for folder in (tmp_path / "landing").iterdir() if folder.is_dir()}
    assert dates == {f"date={DATES[0]}"}


def test_a_question_narrows_by_path_and_time(spark: SparkSession, final: list[bytes], tmp_path: Path) -> None:
    """A file half written is left out and stops nothing."""
    land(spark, tmp_path, final)
    (tmp_path / "landing" / f"date={DATES[1]}" / "part-half.parquet").write_bytes(b"PAR1")
    found = stored(tmp_path, Question(MIDNIGHT * SECOND_NS, (MIDNIGHT + 10) * SECOND_NS, ("path 1",)))
    starts = [(json.loads(row)["path"], json.loads(row)["window_start_ns"] // SECOND_NS) for row in found]
    assert starts == [("path 1", MIDNIGHT), ("path 1", MIDNIGHT + 5)]


def test_only_the_newest_revision_unless_asked(
    spark: SparkSession, final: list[bytes], tmp_path: Path
) -> None:
    """A revision takes the place of what it revises."""
    revised = window_rows.encode({**window_rows.decode_window(final[0]), "revision": 1, "late": 3})
    land(spark, tmp_path, [*final, revised])
    assert revised in stored(tmp_path)
    assert final[0] not in stored(tmp_path)
    both = stored(tmp_path, Question(0, 1 << 62, all_revisions=True))
    assert len(both) == len(final) + 1


def test_hlog_is_read_by_hdrhistograms_own_reader(final: list[bytes], tmp_path: Path) -> None:
    """Histogram by histogram, with the path as tag."""
    table: list[dict[str, Any]] = [{**window_rows.decode_window(row), "row": row.decode()} for row in final]
    file = tmp_path / "a.hlog"
    file.write_text("".join(as_hlog(table)))
    total = HdrHistogram(1, 3_600_000_000_000, 3)
    HistogramLogReader(str(file), total).add_next_interval_histogram()
    first = min(table, key=lambda row: (row["window_start_ns"], row["path"]))
    assert total.get_total_count() == first["response"]["count"]
    assert file.read_text().count("Tag=path_0,") == len(final) / 2


def test_csv_has_a_line_for_each_window(final: list[bytes]) -> None:
    """Under the names of its columns."""
    row: dict[str, Any] = {**window_rows.decode_window(final[0])}
    lines = list(as_csv([{**row, **row["classes"], "row": final[0].decode()}]))
    assert lines[0].startswith("path,mesh,window_start,window_seconds,revision,complete,sent,received,")
    assert lines[1].startswith("path 0,prod,2023-11-14T23:59:40Z,5.0,0,")


def test_there_is_no_archive(tmp_path: Path) -> None:
    """Told, with what makes one, and with status 2."""
    with pytest.raises(ArchiveError, match="is no archive: `inflight stream --archive"):
        list(read(str(tmp_path), ALL))
    result = CliRunner().invoke(command, [str(tmp_path)])
    assert result.exit_code == 2
    result = CliRunner().invoke(command, [str(tmp_path), "--since", "yesterday"])
    assert "write a time like 2026-01-31T10:00" in result.output


def test_the_command_shows_a_table(spark: SparkSession, final: list[bytes], tmp_path: Path) -> None:
    """And the same rows as JSON, byte for byte."""
    land(spark, tmp_path, final)
    shown = CliRunner().invoke(command, [str(tmp_path), "path 0", "--since", "2023-11-14", "--as", "json"])
    assert shown.exit_code == 0
    assert shown.output.encode().splitlines() == [row for row in final if b'"path":"path 0"' in row]
    table = CliRunner().invoke(command, [str(tmp_path), "--since", "2023-11-14"])
    assert f"{len(final)} windows" in table.output
    ever = CliRunner().invoke(command, [str(tmp_path), "--since", "0001-01-01", "--until", "9999-12-31"])
    assert f"{len(final)} windows" in ever.output
