"""Writes rows into an archive without Spark: small files as rows come, merged so that they stay few.

A file has its name once it is whole, and is on disk then: who is killed leaves no half of one that is read.
Rows may be there twice after that, as the readers know.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

from collectors.process.private_files import private_folder
from streaming.archive.layout import LANDING, WINDOWS, Layout

_log: Final = logging.getLogger("inflight.archive")

MERGE_FILES: Final = 64
_QUIET_SECONDS: Final = 1_800  # revisions of a day's windows come for a quarter of an hour after it
_SMALL: Final = "small"
_MERGED: Final = "merged"
_UNFINISHED: Final = ".unfinished"


class ArchiveWriter:
    """Adds files to the landing folder of one archive; beside others that do."""

    def __init__(
        self, folder: Path, now_seconds: Callable[[], float] = time.time, layout: Layout = WINDOWS
    ) -> None:
        """Raise OSError where nothing can be written there."""
        self._layout, self._schema = layout, layout.schema
        self._landing = private_folder(Path(layout.root(str(folder))) / LANDING)
        self._now_seconds = now_seconds
        self._run = os.urandom(4).hex()
        self._number = 0
        self._trial()
        for half in self._landing.glob(f"*/*{_UNFINISHED}"):
            if self._quiet(half):  # what a killed one left; others may be at work
                half.unlink(missing_ok=True)

    def write(self, rows: Iterable[bytes]) -> None:
        """Add rows as the accounting encodes them; after an OSError it may be called again with the same."""
        by_date: dict[str, list[dict[str, Any]]] = {}
        for data in rows:
            values = self._layout.values(data)
            by_date.setdefault(_date(values[self._layout.time]), []).append(values)
        for date, found in by_date.items():
            folder = private_folder(self._landing / f"date={date}")
            self._put(folder, _SMALL, iter([pa.Table.from_pylist(found, self._schema)]))

    def merge(self) -> None:
        """Make one of many small files, and one of all files of a day that is over; raises OSError."""
        for folder in sorted(self._landing.glob("date=*")):
            own = sorted(folder.glob("run-*.parquet"))
            small = [file for file in own if f"-{_SMALL}-" in file.name]
            today = folder.name >= f"date={_date(round(self._now_seconds() * 1e9))}"
            if len(small) >= MERGE_FILES:
                self._merge(folder, small)
            elif not today and len(own) > 1 and all(map(self._quiet, own)):
                self._merge(folder, own)

    def _merge(self, folder: Path, files: list[Path]) -> None:
        done: list[Path] = []
        self._put(folder, _MERGED, _tables(files, self._schema, done))
        for file in done:
            file.unlink(missing_ok=True)

    def _put(self, folder: Path, kind: str, tables: Iterator[pa.Table]) -> None:
        self._number += 1
        name = f"run-{self._run}-{kind}-{self._number:06}"
        half = folder / f".{name}{_UNFINISHED}"
        try:
            with open(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:  # noqa: PTH123 -- its mode
                with parquet.ParquetWriter(out, self._schema, compression="zstd") as writer:
                    for table in tables:
                        writer.write_table(table)
                out.flush()
                os.fsync(out.fileno())
            half.rename(folder / f"{name}.parquet")
            _sync(folder)
        except BaseException:
            half.unlink(missing_ok=True)
            raise

    def _trial(self) -> None:
        trial = self._landing / f".{self._run}{_UNFINISHED}"
        trial.write_bytes(b"")
        trial.unlink()

    def _quiet(self, file: Path) -> bool:
        try:
            return self._now_seconds() - file.stat().st_mtime > _QUIET_SECONDS
        except FileNotFoundError:
            return True


def _tables(files: list[Path], schema: pa.Schema, done: list[Path]) -> Iterator[pa.Table]:
    """Yield what the files hold, one after another, and note those that could be read."""
    for file in files:
        try:
            table = parquet.read_table(file, schema=schema, partitioning=None)
        except (pa.ArrowException, OSError) as error:
            _log.warning("%s is left as it is: %s", file, str(error)[:200])
            continue
        yield table
        done.append(file)


def _date(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // 1_000_000_000, UTC).strftime("%Y-%m-%d")


def _sync(folder: Path) -> None:
    """Have the folder itself on disk, with the file's name."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
