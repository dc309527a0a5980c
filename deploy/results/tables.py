"""Parquet files of others, read piece by piece within a bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

MAX_FILE_BYTES: Final = 256 << 20
MAX_UNPACKED_BYTES: Final = 1 << 30
_BATCH_ROWS: Final = 1_024


class BadTable(Exception):  # noqa: N818 -- it is the table that is bad
    """The file is no table that can be used; the text says why."""


def batches(file: Path, columns: Sequence[str]) -> Iterator[Any]:
    """Yield the columns in pieces; raises BadTable."""
    size = file.stat().st_size
    if size > MAX_FILE_BYTES:
        raise BadTable(f"it has {size >> 20:,} MB; {MAX_FILE_BYTES >> 20} is the most")
    try:
        with parquet.ParquetFile(file) as table:
            missing = [name for name in columns if name not in table.schema_arrow.names]
            if missing:
                raise BadTable(f"it has no column {missing[0]}")
            about = table.metadata
            unpacked = sum(about.row_group(n).total_byte_size for n in range(about.num_row_groups))
            if unpacked > MAX_UNPACKED_BYTES:
                raise BadTable(f"it unpacks to {unpacked >> 20:,} MB; {MAX_UNPACKED_BYTES >> 20} is the most")
            yield from table.iter_batches(batch_size=_BATCH_ROWS, columns=list(columns))
    except pa.ArrowException as error:
        raise BadTable(f"it is no Parquet, or not whole: {str(error)[:100]}") from None
