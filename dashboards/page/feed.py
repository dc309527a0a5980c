"""Snapshots for many readers: made at most once a second, and sent on as what has changed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any, Final

Json = dict[str, Any]

EVERY_SECONDS: Final = 1.0
MAX_READERS: Final = 32


class Feed:
    """The newest snapshot, shared by all readers."""

    def __init__(self, snapshot: Callable[[], Json], every_seconds: float = EVERY_SECONDS) -> None:
        self._snapshot = snapshot
        self._every_seconds = every_seconds
        self._lock = threading.Lock()
        self._readers = threading.BoundedSemaphore(MAX_READERS)
        self._newest: Json = {}
        self._encoded: bytes | None = None
        self._made = float("-inf")

    def newest(self) -> Json:
        """Return a snapshot that is not older than the interval."""
        with self._lock:
            return self._renewed()

    def encoded(self) -> bytes:
        """Return it as JSON, encoded once for all readers."""
        with self._lock:
            newest = self._renewed()
            if self._encoded is None:
                self._encoded = json.dumps(newest, separators=(",", ":"), ensure_ascii=False).encode()
            return self._encoded

    def _renewed(self) -> Json:
        if time.monotonic() - self._made >= self._every_seconds:
            self._newest, self._encoded = self._snapshot(), None
            self._made = time.monotonic()
        return self._newest

    def reader(self) -> Reader | None:
        """Return a reader of events from now on, or None if there are too many."""
        return Reader(self) if self._readers.acquire(blocking=False) else None

    def wait(self) -> None:
        time.sleep(self._every_seconds)

    def release(self) -> None:
        self._readers.release()


class Reader:
    """Yields server-sent events: everything, then at each interval what has changed. Has to be closed."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._before: Json | None = None
        self._open = True

    def __iter__(self) -> Reader:
        return self

    def __next__(self) -> bytes:
        if not self._open:
            raise StopIteration
        before = self._before
        if before is not None:
            self._feed.wait()
        self._before = now = self._feed.newest()
        return event("state", now) if before is None else event("change", changes(before, now))

    def close(self) -> None:
        if self._open:
            self._open = False
            self._feed.release()


def event(name: str, value: Json) -> bytes:
    """Return a server-sent event; JSON has no line breaks of its own."""
    data = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return f"event: {name}\ndata: {data}\n\n".encode()


def changes(before: Json, now: Json) -> Json:
    """Return the fields of paths and other values that differ, and the names of paths that are gone."""
    old = {path["name"]: path for path in before["paths"]}
    changed = []
    for path in now["paths"]:
        known = old.pop(path["name"], None)
        fields = {name: value for name, value in path.items() if known is None or known.get(name) != value}
        if fields:
            changed.append({**fields, "name": path["name"]})
    rest = {name: value for name, value in now.items() if before.get(name) != value}
    return {**rest, "paths": changed, "gone": list(old)}
