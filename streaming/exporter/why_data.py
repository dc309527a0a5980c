"""What `inflight why` asks for: the rows that name hops of one path, and its newest final window."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, Final

from streaming.exporter.core import Exporter

VERSION: Final = 1
MOST_NEAR: Final = 5
_COMPARED: Final = 500  # names
_CHARACTERS: Final = 64  # of each name

Json = dict[str, Any]


def why(exporter: Exporter, name: str) -> Json:
    """Return the rows of a path, the newest first; of a path that is not known the names that are near."""
    with exporter.lock:
        path = exporter.paths.get(name)
        names = [] if path else list(exporter.paths)
    if path is None:  # comparing many names takes a while
        return {"v": VERSION, "path": name[:1_024], "known": False, "near": near(name, names)}
    with exporter.lock:
        exporter.forget_episodes()
        window = path.window
        return {
            "v": VERSION,
            "path": path.name,
            "known": True,
            "near": [],
            "now_ns": exporter.now_ns(),
            "rows": path.episodes.rows(),
            "window": window
            and {
                "start_ns": window["window_start_ns"],
                "length_ns": window["window_ns"],
                "sent": window["sent"],
                "classes": window["classes"],
            },
        }


def near(name: str, known: Iterable[str]) -> list[str]:
    """Return the names that somebody may have meant: those that it is a part of, then those alike."""
    wanted = name[:_CHARACTERS].lower()
    names = sorted(known)
    within = [one for one in names if wanted and wanted in one.lower()]
    shortened = {one[:_CHARACTERS].lower(): one for one in names[:_COMPARED]}
    alike = difflib.get_close_matches(wanted, shortened, MOST_NEAR)
    return list(dict.fromkeys([*within[:MOST_NEAR], *(shortened[one] for one in alike)]))[:MOST_NEAR]
