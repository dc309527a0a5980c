"""The whole of one group of meshes: takes in what comes, and tells which hop."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract.attribution_rows import AttributionRow
from collectors.contract.events import Event
from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import Topic
from collectors.contract.window_rows import LiveRow, WindowRow
from streaming.attribution.places import Place


class Attribution:
    """State of a group. Feed in any order; `turn` gives the rows that are new or revised since the last one.

    Nothing here knows a clock: `now_ns` is the newest append time (in Spark) or the wall clock (in process).
    """

    def __init__(self, places: Mapping[str, Place], state: bytes | None = None) -> None:
        """Raises StateError (a ValueError) where the state is of a newer version or damaged."""
        raise NotImplementedError

    def feed_window(self, row: WindowRow) -> None:
        raise NotImplementedError

    def feed_live(self, row: LiveRow) -> None:
        raise NotImplementedError

    def feed_poll(self, topic: Topic, record: Telemetry) -> None:
        """Take a record of `inflight.router` or `inflight.broker`. Raises ValueError where it cannot be read."""
        raise NotImplementedError

    def feed_event(self, event: Event) -> None:
        raise NotImplementedError

    def turn(self, now_ns: int) -> list[AttributionRow]:
        """Return new rows and revisions; forget what is too old to matter."""
        raise NotImplementedError

    def encode(self) -> bytes:
        """Return the state as bytes, for a restart."""
        raise NotImplementedError
