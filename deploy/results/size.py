"""How much a result folder takes, and how much of it an hour of results is."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Final, NamedTuple

from collectors.contract.untrusted_text import shown
from deploy.errors import Problem
from deploy.results.folder import Folder
from streaming.wording import size

_PIECE_BYTES: Final = 1 << 20
_HOUR_NS: Final = 3_600_000_000_000


class Size(NamedTuple):
    """Bytes of all files, and what they are packed, as an archive or git keeps them."""

    held_bytes: int
    packed_bytes: int


def measured(path: Path) -> Size:
    """Return the size of a folder; raises Problem."""
    held = packed = 0
    try:
        for file in sorted(path.rglob("*")):
            if file.is_file() and not file.is_symlink():
                packer = zlib.compressobj()
                with file.open("rb") as data:
                    while piece := data.read(_PIECE_BYTES):
                        held += len(piece)
                        packed += len(packer.compress(piece))
                packed += len(packer.flush())
    except OSError as error:
        raise Problem(f"{shown(str(path))} cannot be read: {error.strerror}") from None
    return Size(held, packed)


def said(found: Size, results: Folder) -> str:
    """Return it in words: `1.2 MB, 240 kB packed: 4 MB an hour of results`."""
    long_ns = sum(run.ended_ns - run.began_ns for run in results.runs)
    hourly = f": {size(found.packed_bytes * _HOUR_NS / long_ns)} an hour of results" if long_ns > 0 else ""
    return f"{size(found.held_bytes)}, {size(found.packed_bytes)} packed{hourly}"
