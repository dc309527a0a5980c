"""Reads durations, rates, sizes and shares as people write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Final

_NUMBER: Final = r"(\d+(?:\.\d+)?)"
_DURATION: Final = re.compile(_NUMBER + r"\s*(ns|us|µs|ms|s|m|h|d)")
_NS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
}
_SIZE: Final = re.compile(_NUMBER + r"\s*(B|kB|MB|GB|KiB|MiB|GiB)")
_BYTES: Final = {
    "B": 1,
    "kB": 1_000,
    "MB": 1_000_000,
    "GB": 1_000_000_000,
    "KiB": 1_024,
    "MiB": 1_048_576,
    "GiB": 1_073_741_824,
}
_RATE: Final = re.compile(_NUMBER + r"\s*/\s*(s|m|h)")
_SHARE: Final = re.compile(_NUMBER + r"\s*%")


_FASTEST: Final = 1e9
_LONGEST_NS: Final = 36_500 * _NS["d"]


@dataclass(frozen=True, slots=True)
class Step:
    """A part of a rate profile: from one rate to another, in messages a second; the last may have no end."""

    start: float
    end: float
    duration_ns: int | None


def duration_ns(value: object) -> int:
    """Returns `250ms`, `10s` or `1.5h` in ns; raises ValueError for anything else, and for zero."""
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if not match:
        raise ValueError(f"{value!r} is not a duration; write it like 250ms, 10s, 5m, 1h or 30d")
    ns = int(Fraction(match[1]) * _NS[match[2]])
    if ns <= 0:
        raise ValueError(f"{value!r} must be longer than zero")
    if ns > _LONGEST_NS:
        raise ValueError(f"{value!r} is longer than 36500d")
    return ns


def time_ns(text: str, now_ns: int) -> int:
    """Return the time that is meant: 2026-01-31T10:00, in UTC unless it says, or how long ago, like 2h."""
    try:
        return now_ns - duration_ns(text)
    except ValueError:
        time = datetime.fromisoformat(text)
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1e3) * _NS["ms"]


def size_bytes(value: object) -> int:
    """Returns `256B` or `10kB` in bytes; raises ValueError for anything else."""
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if not match:
        raise ValueError(f"{value!r} is not a size; write it like 256B, 10kB or 1MiB")
    return int(Fraction(match[1]) * _BYTES[match[2]])


def rate_per_second(value: object) -> float:
    """Returns `10/s` or `6/m` in messages a second, and 0 (as fast as credit allows) for 0."""
    if value in (0, "0") and not isinstance(value, bool):
        return 0.0
    match = _RATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if not match:
        raise ValueError(f"{value!r} is not a rate; write it like 10/s or 6/m, or 0 for as fast as possible")
    rate = float(match[1]) / {"s": 1, "m": 60, "h": 3600}[match[2]]
    if rate <= 0:
        raise ValueError(f"{value!r} must be above zero, or the bare 0 for as fast as possible")
    if rate > _FASTEST:
        raise ValueError(f"{value!r} is more than 1e9/s")
    return rate


def rate_profile(value: object) -> tuple[Step, ...]:
    """Reads a rate, or a list of steps `{rate: 10/s, for: 1m}`; with `to: 100/s` a step is a ramp."""
    if not isinstance(value, list):
        rate = rate_per_second(value)
        return (Step(rate, rate, None),)
    steps = []
    for position, item in enumerate(value, 1):
        last = position == len(value)
        if not isinstance(item, dict) or "rate" not in item or not item.keys() <= {"rate", "to", "for"}:
            raise ValueError(f"step {position} of the rate profile is not of the form {{rate, to, for}}")
        if "for" not in item and not last:
            raise ValueError(f"step {position} of the rate profile needs `for`; only the last may go on")
        if "to" in item and "for" not in item:
            raise ValueError(f"step {position} of the rate profile is a ramp and needs `for`")
        start = rate_per_second(item["rate"])
        end = rate_per_second(item.get("to", item["rate"]))
        if len(value) > 1 and 0.0 in {start, end}:
            raise ValueError(f"step {position} of the rate profile: 0 is no rate of a step")
        steps.append(Step(start, end, duration_ns(item["for"]) if "for" in item else None))
    if not steps:
        raise ValueError("a rate profile has at least one step")
    return tuple(steps)


def share(value: object) -> float:
    """Returns `99.9%` as 0.999."""
    match = _SHARE.fullmatch(value.strip()) if isinstance(value, str) else None
    if not match or not 0 < float(match[1]) < 100:  # noqa: PLR2004 -- per cent
        raise ValueError(f"{value!r} is not a share between 0% and 100%; write it like 99.9%")
    return float(Fraction(match[1]) / 100)
