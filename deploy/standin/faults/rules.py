"""What a stand-in is told to do wrong. Pure: rules, and what they decide; doing it is `gate`'s."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deploy.standin.routing import addresses

if TYPE_CHECKING:
    from collections.abc import Callable

DELAY, DROP, RELEASE, REJECT, MODIFY, DUPLICATE, STALL = (
    "delay", "drop", "release", "reject", "modify", "duplicate", "stall",
)  # fmt: skip
KINDS = (DELAY, DROP, RELEASE, REJECT, MODIFY, DUPLICATE, STALL)
_REFUSALS = (RELEASE, REJECT, MODIFY)  # mean nothing to a presettled message
ANY, PRESETTLED, UNSETTLED = "any", "presettled", "unsettled"

_MS = 1_000_000
# Extra delay from a jitter in ns: the shape is the name, the jitter its width or mean.
DISTRIBUTIONS: dict[str, Callable[[random.Random, int], int]] = {
    "fixed": lambda _rng, _jitter_ns: 0,
    "uniform": lambda rng, jitter_ns: rng.randrange(jitter_ns) if jitter_ns else 0,
    "exponential": lambda rng, jitter_ns: int(rng.expovariate(1.0) * jitter_ns),
}


class FaultError(ValueError):
    """A fault that cannot be done, with the reason."""


@dataclass
class Fault:
    kind: str
    address: str = "*"  # an address or a prefix of addresses; * is every mobile one
    settlement: str = ANY
    count: int | None = None  # how many messages still; None: all
    ratio: float = 1.0
    delay_ns: int = 0
    jitter_ns: int = 0
    distribution: str = "fixed"
    reorder: bool = False  # a delayed message may be overtaken
    until_ns: int | None = None
    hits: int = 0
    rng: random.Random = field(default_factory=random.Random)

    def applies(self, key: str, *, presettled: bool, now_ns: int) -> bool:
        if self.count is not None and self.hits >= self.count:
            return False
        if self.until_ns is not None and now_ns >= self.until_ns:
            return False
        if presettled and (self.settlement == UNSETTLED or self.kind in _REFUSALS):
            return False
        if not presettled and self.settlement == PRESETTLED:
            return False
        if self.address == "*" and (not key.startswith("M") or addresses.plain(key).startswith("$")):
            return False
        return addresses.matches(self.address, addresses.plain(key))

    def delay(self) -> int:
        return self.delay_ns + DISTRIBUTIONS[self.distribution](self.rng, self.jitter_ns)

    def describe(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "address": self.address,
            "settlement": self.settlement,
            "left": None if self.count is None else self.count - self.hits,
            "hits": self.hits,
        }


class Faults:
    def __init__(self) -> None:
        self.rules: dict[int, Fault] = {}
        self._numbers = 0

    def add(self, fault: Fault) -> int:
        self._numbers += 1
        self.rules[self._numbers] = fault
        return self._numbers

    def decide(self, key: str, *, presettled: bool, now_ns: int) -> Fault | None:
        """The first rule that takes this message; counts it as hit."""
        for fault in self.rules.values():
            if fault.applies(key, presettled=presettled, now_ns=now_ns) and (
                fault.ratio >= 1.0 or fault.rng.random() < fault.ratio
            ):
                fault.hits += 1
                return fault
        return None

    def stalls(self, key: str, now_ns: int) -> bool:
        return any(
            fault.kind == STALL
            and fault.applies(key, presettled=fault.settlement == PRESETTLED, now_ns=now_ns)
            for fault in self.rules.values()
        )


_TEXTS = {"kind": KINDS, "settlement": (ANY, PRESETTLED, UNSETTLED), "distribution": tuple(DISTRIBUTIONS)}
_NUMBERS = ("count", "ratio", "ms", "jitter_ms", "seconds", "seed")
_KNOWN = (*_TEXTS, *_NUMBERS, "address", "reorder")


def read(command: dict[str, Any], now_ns: int) -> Fault:
    """A fault from a command's fields; raises FaultError for what cannot be understood."""
    unknown = sorted(set(command) - set(_KNOWN))
    if unknown:
        raise FaultError(f"unknown: {', '.join(unknown)}; known are {', '.join(_KNOWN)}")
    for name, allowed in _TEXTS.items():
        if name in command and command[name] not in allowed:
            raise FaultError(f"{name} is one of {', '.join(allowed)}, not {command[name]!r}")
    for name in _NUMBERS:
        value = command.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or value < 0):
            raise FaultError(f"{name} is a number from 0, not {value!r}")
    if "kind" not in command:
        raise FaultError(f"no kind; it is one of {', '.join(KINDS)}")
    seconds, count = command.get("seconds"), command.get("count")
    return Fault(
        kind=command["kind"],
        address=str(command.get("address", "*")),
        settlement=command.get("settlement", ANY),
        count=None if count is None else int(count),
        ratio=float(command.get("ratio", 1.0)),
        delay_ns=int(command.get("ms", 0) * _MS),
        jitter_ns=int(command.get("jitter_ms", 0) * _MS),
        distribution=command.get("distribution", "uniform" if command.get("jitter_ms") else "fixed"),
        reorder=bool(command.get("reorder", False)),
        until_ns=None if seconds is None else now_ns + int(seconds * 1_000_000_000),
        rng=random.Random(command.get("seed")),  # noqa: S311 -- simulated bad luck, not a secret
    )
