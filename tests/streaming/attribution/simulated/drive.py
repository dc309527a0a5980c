"""Feeds a history to an attribution and takes its rows, as the job does: what came, then a turn."""

# ruff: noqa: S311 -- chance here is to be repeatable, not secret

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Protocol, cast

from collectors.contract import attribution_rows
from collectors.contract.attribution_rows import AttributionRow
from collectors.contract.events import Event
from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import EVENTS, LIVE, WINDOWS, Topic
from collectors.contract.window_rows import LiveRow, WindowRow
from streaming.attribution.places import Place

from .history import Item
from .parts import SECOND

TURN_NS = 5 * SECOND
AFTER_NS = 180 * SECOND  # turns go on for so long when nothing comes any more


class Core(Protocol):
    """What is tested: streaming/attribution/engine.py says what each does."""

    def reach(self, now_ns: int) -> None: ...

    def feed_window(self, row: WindowRow) -> None: ...

    def feed_live(self, row: LiveRow) -> None: ...

    def feed_poll(self, topic: Topic, record: Telemetry) -> None: ...

    def feed_event(self, event: Event) -> None: ...

    def turn(self, now_ns: int) -> list[AttributionRow]: ...

    def encode(self) -> bytes: ...


Make = Callable[[Mapping[str, Place], bytes | None], Core]


def feed(core: Core, item: Item) -> None:
    core.reach(item.append_ns)
    if item.topic is WINDOWS:
        core.feed_window(cast("WindowRow", item.value))
    elif item.topic is LIVE:
        core.feed_live(cast("LiveRow", item.value))
    elif item.topic is EVENTS:
        core.feed_event(cast("Event", item.value))
    else:
        core.feed_poll(item.topic, cast("Telemetry", item.value))


def drive(
    places: Mapping[str, Place], items: Sequence[Item], make: Make, *, restarts: Iterable[int] = ()
) -> list[AttributionRow]:
    """Return all rows in the order in which they were told; `restarts`: before the turns of these numbers."""
    core = make(places, None)
    again, rows = frozenset(restarts), list[AttributionRow]()
    now_ns, number, index = items[0].append_ns, 0, 0
    until_ns = items[-1].append_ns + AFTER_NS
    while now_ns < until_ns:
        now_ns += TURN_NS
        while index < len(items) and items[index].append_ns <= now_ns:
            feed(core, items[index])
            index += 1
        if number in again:
            core = make(places, core.encode())
        rows += core.turn(now_ns)
        number += 1
    return rows


def last(rows: Iterable[AttributionRow]) -> list[AttributionRow]:
    """Return each episode's highest revision, unless another episode holds its windows now."""
    found: dict[tuple[str, str, int], AttributionRow] = {}
    for row in rows:
        key = attribution_rows.identity(row)
        if key not in found or row["revision"] >= found[key]["revision"]:
            found[key] = row
    return [row for row in found.values() if row["merged_into"] is None]


def delayed(items: Iterable[Item], seed: int, most_ns: int = 10 * SECOND) -> list[Item]:
    """Return the same records in another order: those of a target or path are late by a time of its own."""
    rng = Random(f"{seed} delays")
    delays: dict[tuple[str, str], int] = {}
    found = []
    for item in items:
        key = item.topic.suffix, _stream(item)
        delay_ns = delays.setdefault(key, rng.randrange(most_ns))
        found.append(replace(item, append_ns=item.append_ns + delay_ns))
    return sorted(found, key=lambda item: item.append_ns)


def _stream(item: Item) -> str:
    if isinstance(item.value, Telemetry):
        return item.value.key
    return "" if isinstance(item.value, Event) else item.value["path"]
