"""When trouble of each event was first shown, which no final row tells: a small file in the archive."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, TypedDict

from collectors.contract import type_check
from collectors.contract.events import Key, Kind
from collectors.contract.type_check import LengthNs, MaxItems, MaxLength, TimeNs
from collectors.contract.untrusted_text import read_json
from collectors.process.private_files import replace

_log: Final = logging.getLogger("inflight.archive")
FILE: Final = "detected.json"
MAX_EVENTS: Final = 1_000
_MAX_BYTES: Final = 16 << 20


class _Item(TypedDict):
    at_ns: TimeNs
    kind: Kind
    paths: Annotated[list[Annotated[str, MaxLength(1_024, printable=False)]], MaxItems(1_000)]
    detected_ns: LengthNs


_check: Final = type_check.checker(_Item)


def read(archive: Path) -> dict[Key, int]:
    """Return how long after its begin each event was seen, as far as it can be read."""
    file = archive / FILE
    try:
        with file.open("rb") as data:
            value: Any = read_json(data.read(_MAX_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        _log.warning("%s cannot be read: %s", file, str(error)[:200])
        return {}
    found: dict[Key, int] = {}
    for item in value if isinstance(value, list) else ():
        try:
            _check(item, "an event")
        except ValueError as error:
            _log.warning("%s: %s", file, str(error)[:200])
            continue
        found[item["at_ns"], item["kind"], tuple(item["paths"])] = item["detected_ns"]
    return found


def write(archive: Path, detected: Mapping[Key, int]) -> None:
    """Replace the file; the newest events are kept. Raises OSError."""
    newest = sorted(detected.items())[-MAX_EVENTS:]
    value = [
        {"at_ns": at_ns, "kind": kind, "paths": paths, "detected_ns": detected_ns}
        for (at_ns, kind, paths), detected_ns in newest
    ]
    replace(archive / FILE, json.dumps(value, ensure_ascii=False).encode())
