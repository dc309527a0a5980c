"""Events and their effects in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from collectors.contract.events import Event
from collectors.http.metric_factory import head, line_form, quote
from streaming.exporter.event_effects import Effect, end_ns, goes_on

MAX_TOLD: Final = 20  # as labels, and each of them so long
MAX_TEXT: Final = 120
TAIL_NS: Final = 15 * 10**9  # a moment has to last for a scrape
_ACTIVE: Final = line_form("event_active")
_EFFECTS: Final = (
    "event_begun_timestamp_seconds",
    "event_ended_timestamp_seconds",
    "event_detected_seconds",
    "event_recovered_seconds",
    "event_touched_paths",
    "event_lost_messages",
)


def active(events: Iterable[Event], now_ns: int) -> list[str]:
    """Return the events that go on, and those that ended so lately that a scrape may have missed them."""
    tail_ns = {"maintenance": 0}
    events = list(events)
    ended = {event.key for event in events if event.until_ns is not None}
    found = {
        (event.kind, event.text[:MAX_TEXT])
        for event in events
        if event.covers(now_ns - tail_ns.get(event.kind, TAIL_NS), now_ns + 1)
        or (event.key not in ended and goes_on(event, now_ns))
    }
    lines = [_ACTIVE % (quote(kind), quote(words), 1) for kind, words in sorted(found)[:MAX_TOLD]]
    return [head("event_active"), *lines] if lines else []


def effects(told: Iterable[tuple[Event, Effect]]) -> Iterator[str]:
    """Yield the families of effects; of events with the same labels the newest."""
    by_labels = {_labels(event): (event, effect) for event, effect in told}
    for name in _EFFECTS:
        form = line_form(name)
        values = ((labels, _value(name, *both)) for labels, both in by_labels.items())
        lines = [form % (*labels, value) for labels, value in values if value is not None]
        if lines:
            yield head(name)
            yield from lines


def _labels(event: Event) -> tuple[str, ...]:
    texts = (event.kind, event.do, event.what, event.text[:MAX_TEXT], at_label(event))
    return tuple(map(quote, texts))


def at_label(event: Event) -> str:
    """Return when it began, in UTC, to the thousandth of a second."""
    at = datetime.fromtimestamp(event.at_ns // 10**6 / 1e3, UTC).isoformat(timespec="milliseconds")
    return at.replace("+00:00", "Z")


def _value(name: str, event: Event, effect: Effect) -> float | int | None:
    if name == "event_begun_timestamp_seconds":
        return event.at_ns / 1e9
    if name == "event_ended_timestamp_seconds":
        return _seconds(end_ns(event))
    if name == "event_detected_seconds":
        return _seconds(effect.detected_ns)
    if name == "event_recovered_seconds":
        return _seconds(effect.recovered_ns)
    return effect.touched if name == "event_touched_paths" else effect.lost


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e9
