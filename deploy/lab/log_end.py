"""The end of a part's log, as a terminal can bear it."""

from __future__ import annotations

import os

from deploy.errors import Problem
from deploy.lab import client
from deploy.lab.client import LabRecord

KEEPER = "keeper"
_BYTES_A_LINE = 1_000


def lines(lab: LabRecord, part: str, count: int) -> list[str]:
    """Return the last lines that a part wrote, or the keeper; raises Problem where there are none."""
    names = [part.name for part in lab.record.parts]
    if part not in {*names, KEEPER}:
        raise Problem(f"{part!a} is no part of {lab.name}; parts are {', '.join(names)}, and {KEEPER}")
    file = lab.folder / client.KEEPER_LOG if part not in names else lab.folder / client.LOGS / f"{part}.log"
    try:
        with file.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(0, end - count * _BYTES_A_LINE))
            text = log.read(count * _BYTES_A_LINE).decode(errors="replace")
    except FileNotFoundError:
        raise Problem(f"{part} of {lab.name} has no log yet") from None
    return [_printable(line) for line in text.splitlines()[-count:]]


def _printable(line: str) -> str:
    return "".join(c if c.isprintable() or c == "\t" else ascii(c)[1:-1] for c in line)
