"""Events of the network (faults, maintenance, deployments) as lines for people."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from streaming.wording import duration

SHOWN: Final = 3
_OLD_SECONDS: Final = 3600.0
_DAY_SECONDS: Final = 86_400.0

Json = dict[str, Any]


class EventLine(NamedTuple):
    """A line, and whether the event is going on."""

    now: bool
    line: str


def event_lines(state: Json) -> list[EventLine]:
    """Return three lines at most: what goes on, then what is within an hour, each the newest first."""
    now = state["now_seconds"]
    found = [event for event in state["events"] if _is_near(event, now)]
    found.sort(key=lambda event: (_goes_on(event, now), event["at_seconds"]), reverse=True)
    return [EventLine(_goes_on(event, now), "".join(_parts(event, now))) for event in found[:SHOWN]]


def _goes_on(event: Json, now: float) -> bool:
    until = event["until_seconds"]
    if until is None:  # an action tells its end when it is over
        return bool(event["do"]) and event["at_seconds"] <= now
    return bool(event["at_seconds"] <= now < until)


def _is_near(event: Json, now: float) -> bool:
    until = event["until_seconds"] or event["at_seconds"]
    return bool(until > now - _OLD_SECONDS and event["at_seconds"] < now + _OLD_SECONDS)


def _parts(event: Json, now: float) -> Iterator[str]:
    at, until = event["at_seconds"], event["until_seconds"]
    yield event["kind"]
    if _goes_on(event, now):
        since = f" since {_lasted(now - at)}"
        yield since if until is None else f" now, until {moment(until, now)}"
    elif at > now:
        yield f" from {moment(at, now)}"
    else:
        yield f" {duration(round((now - at) * 1e9))} ago"
    if until is not None and until <= now:
        yield f", for {_lasted(until - at)}"
    yield from _effect(event["effect"])
    if event["paths"]:
        yield f" ({', '.join(event['paths'])})"
    yield f": {event['text']}"


def _effect(effect: Json | None) -> Iterator[str]:
    """Yield when its trouble was seen after its begin, and how long after its end all was well again."""
    if effect is None:
        return
    if effect["detected_seconds"] is not None:
        yield f", seen in {duration(round(effect['detected_seconds'] * 1e9))}"
    if effect["recovered_seconds"] is not None:
        yield f", over in {duration(round(effect['recovered_seconds'] * 1e9))}"


def _lasted(seconds: float) -> str:
    """Round to the nearest second: cut off, it would contradict what people write in the event."""
    return duration(round(seconds) * 10**9 if seconds >= 1 else round(seconds * 1e9))


def moment(at: float, now: float, today: str = "%H:%M:%S") -> str:
    """Return a time in the local time zone, with its date if it is more than a day away."""
    return time.strftime(today if abs(at - now) < _DAY_SECONDS else "%d %b %H:%M", time.localtime(at))
