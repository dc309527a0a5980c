"""Reads the archive: rows of a path and a time, each once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from streaming.archive.layout import ALL, DAILY, LANDING, WINDOWS, Layout

_log: Final = logging.getLogger("inflight.archive")
_DAY_NS: Final = 86_400_000_000_000


class ArchiveError(Exception):
    """The folder is no archive, or cannot be read."""


@dataclass(frozen=True, slots=True)
class Question:
    """What starts in [from_ns, to_ns), of these paths or of all; the newest revision, or all."""

    from_ns: int
    to_ns: int
    paths: tuple[str, ...] = ()
    all_revisions: bool = False


def read(archive: str, question: Question, layout: Layout = WINDOWS) -> Iterator[dict[str, Any]]:
    """Yields rows by path and time, a day at a time. Raises ArchiveError where there is no archive."""
    try:
        files, root = fs.FileSystem.from_uri(archive) if "://" in archive else (fs.LocalFileSystem(), archive)
        roots = [one.root(root) for one in ALL]
        there = files.get_file_info([f"{one}/{folder}" for one in roots for folder in (LANDING, DAILY)])
    except (OSError, pa.ArrowException) as error:
        raise ArchiveError(f"{archive} cannot be read: {error}") from None
    if not any(info.type == fs.FileType.Directory for info in there):
        raise ArchiveError(
            f"{archive} is no archive: `inflight stream --archive {archive}` writes one,"
            " and so does `inflight run`"
        )
    root = layout.root(root)
    for date in _dates(files, root, question):
        yield from _day(files, root, date, question, layout)


def _dates(files: Any, root: str, question: Question) -> list[str]:
    selectors = [fs.FileSelector(f"{root}/{folder}", allow_not_found=True) for folder in (LANDING, DAILY)]
    names = {info.base_name for selector in selectors for info in files.get_file_info(selector)}
    dates = sorted(name.partition("=")[2] for name in names if name.startswith("date="))
    return [date for date in dates if _start_ns(date) < question.to_ns and _end_ns(date) > question.from_ns]


def _start_ns(date: str) -> int:
    return int(datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()) * 1_000_000_000


def _end_ns(date: str) -> int:
    return _start_ns(date) + _DAY_NS


def _day(files: Any, root: str, date: str, question: Question, layout: Layout) -> Iterator[dict[str, Any]]:
    at = ds.field(layout.time)
    condition = (at >= question.from_ns) & (at < question.to_ns)
    if question.paths:
        condition &= ds.field("path").isin(list(question.paths))
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for folder in (DAILY, LANDING):
        selector = fs.FileSelector(f"{root}/{folder}/date={date}", allow_not_found=True)
        for info in files.get_file_info(selector):
            if not info.path.endswith(".parquet"):
                continue
            try:
                # With the schema given, a column that an older file does not have is null in its rows.
                data = ds.dataset(info.path, layout.schema, filesystem=files, format="parquet")
                table = data.to_table(columns=[*layout.columns, "row"], filter=condition)
            except (pa.ArrowInvalid, OSError) as error:
                # A file that is being written has no footer yet; its rows are in Kafka still.
                _log.warning("%s is left out: %s", info.path, str(error)[:200])
                continue
            for row in table.to_pylist():
                found.setdefault(tuple(row[name] for name in layout.identity), row)
    newest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for key in sorted(found):
        newest[key if question.all_revisions else key[:-1]] = found[key]
    yield from newest.values()
