"""The kinds of faults as one table: what each does to a message, and which fields it has. Pure.

A new kind is a row of KINDS, with a class where it has fields of its own. The control socket and its
command line take names, fields and help from the table; `injector` carries the actions out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

_MS_NS = 1_000_000
_SECOND_NS = 1_000_000_000


class FaultError(ValueError):
    """A command that cannot be carried out; the text says why."""


@dataclass(frozen=True, slots=True)
class Forward:
    """The message goes on, in so many copies."""

    copies: int = 1


@dataclass(frozen=True, slots=True)
class Drop:
    """A presettled message is dropped and counted; any other is accepted first, which is a lie on purpose."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """The sender gets this outcome."""

    outcome: str


@dataclass(frozen=True, slots=True)
class Hold:
    """The message waits until a time, or where there is none, as long as its address is stalled."""

    until_ns: int | None
    may_be_overtaken: bool = False
    ends_with_fault: bool = False  # it goes on at once when the fault is cleared or its seconds are over


Action = Forward | Drop | Refuse | Hold
Act = Callable[[int, int], Action]  # of a message's size in bytes and the time in ns
Check = Callable[[str, Any], None]  # of a field's name and value; raises FaultError


def check_number(name: str, value: Any) -> None:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (known and math.isfinite(value) and value >= 0):
        raise FaultError(f"{name} is a number from 0, not {value!r}")


def one_of(*allowed: str) -> Check:
    def check(name: str, value: Any) -> None:
        if value not in allowed:
            raise FaultError(f"{name} is one of {', '.join(allowed)}, not {value!r}")

    return check


def no_check(_name: str, _value: Any) -> None:
    pass


# Extra delay in ns; `jitter_ns` is its width or its mean.
_DISTRIBUTIONS: dict[str, Callable[[random.Random, int], int]] = {
    "fixed": lambda _rng, _jitter_ns: 0,
    "uniform": lambda rng, jitter_ns: rng.randrange(jitter_ns) if jitter_ns else 0,
    "exponential": lambda rng, jitter_ns: int(rng.expovariate(1.0) * jitter_ns),
}


class _Delay:
    def __init__(self, options: Mapping[str, Any], rng: random.Random) -> None:
        self._rng = rng
        self._delay_ns = int((options.get("ms") or 0) * _MS_NS)
        self._jitter_ns = int((options.get("jitter_ms") or 0) * _MS_NS)
        self._extra_ns = _DISTRIBUTIONS[
            options.get("distribution", "uniform" if options.get("jitter_ms") else "fixed")
        ]
        self._reorder = bool(options.get("reorder", False))

    def __call__(self, _size_bytes: int, now_ns: int) -> Action:
        extra_ns = self._extra_ns(self._rng, self._jitter_ns)
        return Hold(now_ns + self._delay_ns + extra_ns, may_be_overtaken=self._reorder)


class _Bandwidth:
    def __init__(self, options: Mapping[str, Any], _rng: random.Random) -> None:
        if not options.get("bytes_per_second"):
            raise FaultError("bandwidth needs bytes_per_second, more than 0")
        self._bytes_per_second = options["bytes_per_second"]
        self._free_ns = 0  # when the last message before has passed

    def __call__(self, size_bytes: int, now_ns: int) -> Action:
        self._free_ns = max(now_ns, self._free_ns) + int(size_bytes * _SECOND_NS / self._bytes_per_second)
        return Hold(self._free_ns, ends_with_fault=True)


def _always(action: Action) -> Callable[[Mapping[str, Any], random.Random], Act]:
    return lambda _options, _rng: lambda _size_bytes, _now_ns: action


@dataclass(frozen=True)
class Kind:
    """One kind of fault; `make` returns what one such fault does, from its fields and its randomness."""

    help: str
    make: Callable[[Mapping[str, Any], random.Random], Act]
    fields: Mapping[str, Check] = field(default_factory=dict)
    presettled: bool = True  # whether it means anything to a presettled message
    stops_credit: bool = False


KINDS: dict[str, Kind] = {
    "delay": Kind(
        "messages come later; with reorder they may overtake each other",
        _Delay,
        {
            "ms": check_number,
            "jitter_ms": check_number,
            "distribution": one_of(*_DISTRIBUTIONS),
            "reorder": no_check,
        },
    ),
    "drop": Kind("presettled messages are dropped, others accepted and dropped", _always(Drop())),
    "release": Kind("senders get the outcome released", _always(Refuse("released")), presettled=False),
    "reject": Kind("senders get the outcome rejected", _always(Refuse("rejected")), presettled=False),
    "modify": Kind("senders get the outcome modified", _always(Refuse("modified")), presettled=False),
    "duplicate": Kind("each message twice", _always(Forward(copies=2))),
    "stall": Kind("nothing moves, and senders get no credit", _always(Hold(None)), stops_credit=True),
    "bandwidth": Kind(
        "messages pass one after the other, as over a link of so many bytes_per_second",
        _Bandwidth,
        {"bytes_per_second": check_number},
    ),
}
