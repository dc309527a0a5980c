"""A stand-in for the attribution: its row says what it was fed with, so that tests see what became of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import made_rows

from collectors.contract.attribution_rows import AttributionRow
from collectors.contract.events import Event
from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import Topic
from collectors.contract.window_rows import LiveRow, WindowRow
from streaming.attribution.engine import Attribution
from streaming.attribution.groups import Groups
from streaming.attribution.places import Place

NOW = made_rows.START
PLACES = {
    "one": Place("east", ("east", "west"), "a/one", "a/one"),
    "two": Place("north", ("north",), "a/two", "a/two"),
}
NEWER = b'{"v":2}'


class CountingAttribution(Attribution):
    """Gives a row for each window that lost something; its `sent` is how many things came until then."""

    def __init__(self, places: Mapping[str, Place], state: bytes | None = None) -> None:  # noqa: ARG002
        if state == NEWER:
            raise ValueError("the state is of version 2")
        self.known: dict[str, Any] = json.loads(state) if state else {"fed": [], "waiting": []}

    def reach(self, now_ns: int) -> None:
        """Its rows are of when they are told."""

    def feed_window(self, row: WindowRow) -> None:
        self.known["fed"].append(f"window {row['path']}")
        if row["classes"]["lost"]:
            about = {name: row[name] for name in ("mesh", "path", "address", "window_start_ns")}  # type: ignore[literal-required] # all are its fields
            self.known["waiting"].append({**about, "lost": row["classes"]["lost"]})

    def feed_live(self, row: LiveRow) -> None:
        self.known["fed"].append(f"live {row['path']} {row['received']}")

    def feed_poll(self, topic: Topic, record: Telemetry) -> None:
        if record.target == "unreadable":
            raise ValueError("no such row")
        if record.target == "failing":
            raise ZeroDivisionError("made by a test")
        self.known["fed"].append(f"{topic.suffix} {record.target}")

    def feed_event(self, event: Event) -> None:
        self.known["fed"].append(f"event {event.text}")

    def turn(self, now_ns: int) -> list[AttributionRow]:
        if any("turn fails" in fed for fed in self.known["fed"]):
            raise ZeroDivisionError("made by a test")
        waiting, self.known["waiting"] = self.known["waiting"], []
        return [row(**each, made_ns=now_ns, sent=len(self.known["fed"])) for each in waiting]

    def encode(self) -> bytes:
        return json.dumps(self.known).encode()


def row(
    *, mesh: str, path: str, address: str, window_start_ns: int, lost: int, made_ns: int, sent: int
) -> AttributionRow:
    """Return a row that explains nothing."""
    return {
        "v": 1,
        "mesh": mesh,
        "path": path,
        "address": address,
        "kind": "loss",
        "episode_ns": window_start_ns,
        "revision": 0,
        "final": True,
        "open": False,
        "continued": False,
        "merged_into": None,
        "from_ns": window_start_ns,
        "to_ns": window_start_ns,
        "made_ns": made_ns,
        "windows": [],
        "sent": sent,
        "lost": lost,
        "refused": 0,
        "unobserved": 0,
        "unsent": 0,
        "suspect": 0,
        "hops": [],
        "unexplained_lost": lost,
        "unexplained_refused": 0,
        "route": [],
        "not_exact": "a stand-in",
        "slow": None,
        "sentence": "",
    }


class Watched(Groups):
    """Groups whose attributions a test may look into."""

    def __init__(self) -> None:
        self.made: list[tuple[set[str], CountingAttribution]] = []
        super().__init__(PLACES, self._watched)

    def _watched(self, places: Any, state: bytes | None) -> CountingAttribution:
        made = CountingAttribution(places, state)
        self.made.append((set(places), made))
        return made

    def fed(self, path: str) -> list[str]:
        """What the newest group with this path was fed with."""
        return [made for paths, made in self.made if path in paths][-1].known["fed"]  # type: ignore[no-any-return] # texts


def poll(mesh: str, target: str = "A", **fields: Any) -> Telemetry:
    record = Telemetry(
        site="s", mesh=mesh, target=target, entity="node", at_ns=NOW, interval_ns=1, poll=1, rows=[]
    )
    return replace(record, **fields)


def event(text: str = "kill") -> Event:
    return Event(NOW, None, "fault", (), text)
