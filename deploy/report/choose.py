"""Which event is meant: by words, by a time, or the last one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from collectors.config.units import time_ns
from collectors.contract.events import Event
from collectors.contract.untrusted_text import shown
from deploy.errors import Problem

_LISTED: Final = 5


def told_once(events: Iterable[Event]) -> list[Event]:
    """Return the events in the order of their begins, each once, with its end where that was told."""
    found: dict[tuple[int, str, tuple[str, ...]], Event] = {}
    for event in events:
        known = found.get(event.key)
        if known is None or known.until_ns is None or event.until_ns is not None:
            found[event.key] = event
    return sorted(found.values(), key=lambda event: event.at_ns)


def choose(events: Sequence[Event], wanted: str, now_ns: int) -> tuple[Event, str]:
    """Return the event, and a note where others were meant as well; raises Problem where there is none.

    Events are in order. A time means the event that went on then, or else the first one after it.
    """
    events = [event for event in events if event.at_ns <= now_ns]
    if not events:
        raise Problem("no event is recorded: `inflight event fault|deploy TEXT` records one")
    if wanted == "last":
        return events[-1], ""
    try:
        at_ns = time_ns(wanted, now_ns)
    except ValueError:
        pass  # words, then
    else:
        return _at(events, wanted, at_ns), ""
    words = wanted.lower().split()
    found = [event for event in events if words and all(word in _words(event) for word in words)]
    if not found:
        raise Problem(f"no event has the words {shown(wanted)!r}; {_newest(events)}")
    more = (
        f"{len(found)} events have the words {shown(wanted)!r}: this is the newest" if len(found) > 1 else ""
    )
    return found[-1], more


def _at(events: Sequence[Event], wanted: str, at_ns: int) -> Event:
    for event in reversed(events):
        if event.covers(at_ns, at_ns + 1_000_000_000):
            return event
    after = [event for event in events if event.at_ns >= at_ns]
    if not after:
        raise Problem(f"no event went on at {wanted} or began after it; {_newest(events)}")
    return after[0]


def _words(event: Event) -> str:
    return f"{event.kind} {event.do} {event.what} {event.text}".lower()


def _newest(events: Sequence[Event]) -> str:
    lines = [f"  {clock(event.at_ns)}  {event.kind}: {name_of(event)}" for event in events[-_LISTED:]]
    return "the newest are:\n" + "\n".join(lines)


def name_of(event: Event) -> str:
    """Return the event in words, safe on a screen."""
    return shown(event.text or " ".join(filter(None, (event.do, event.what))) or event.kind)


def clock(time_ns: int) -> str:
    """Return the time in UTC, to the second."""
    return datetime.fromtimestamp(time_ns // 1_000_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
