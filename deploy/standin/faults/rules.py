"""The faults in force, and which of them applies to a message. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deploy.standin.faults.kinds import KINDS, Act, Check, FaultError, check_number, no_check, one_of
from deploy.standin.routing import addresses

if TYPE_CHECKING:
    from collections.abc import Mapping

ANY, PRESETTLED, UNSETTLED = "any", "presettled", "unsettled"
_SECOND_NS = 1_000_000_000

# The fields of every kind. Those of single kinds stand in KINDS.
COMMON_FIELDS: dict[str, Check] = {
    "kind": one_of(*KINDS),
    "address": no_check,
    "settlement": one_of(ANY, PRESETTLED, UNSETTLED),
    "count": check_number,
    "ratio": check_number,
    "seconds": check_number,
    "seed": check_number,
}
_FIELDS = COMMON_FIELDS | {name: check for kind in KINDS.values() for name, check in kind.fields.items()}


@dataclass
class Fault:
    """One fault; raises FaultError if its kind lacks one of the `options`, the fields of that kind alone."""

    kind: str
    address: str = "*"  # an address or a prefix of addresses; * is every mobile one
    settlement: str = ANY
    count: int | None = None  # how many messages; None: all
    ratio: float = 1.0
    until_ns: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    rng: random.Random = field(default_factory=random.Random)
    hits: int = 0
    cleared: bool = False
    act: Act = field(init=False)

    def __post_init__(self) -> None:
        self.act = KINDS[self.kind].make(self.options, self.rng)

    def ended(self, now_ns: int) -> bool:
        return self.cleared or (self.until_ns is not None and now_ns >= self.until_ns)

    def applies(self, key: str, *, presettled: bool, now_ns: int) -> bool:
        if self.ended(now_ns) or (self.count is not None and self.hits >= self.count):
            return False
        if presettled and (self.settlement == UNSETTLED or not KINDS[self.kind].presettled):
            return False
        if not presettled and self.settlement == PRESETTLED:
            return False
        if self.address == "*" and (not key.startswith("M") or addresses.plain(key).startswith("$")):
            return False
        return addresses.matches(self.address, addresses.plain(key))

    def describe(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "address": self.address,
            "settlement": self.settlement,
            "left": None if self.count is None else self.count - self.hits,
            "hits": self.hits,
        }


class Rules:
    """The faults in force, by number."""

    def __init__(self) -> None:
        self._faults: dict[int, Fault] = {}
        self._last_number = 0

    def __bool__(self) -> bool:
        return bool(self._faults)

    def add(self, fault: Fault) -> int:
        self._last_number += 1
        self._faults[self._last_number] = fault
        return self._last_number

    def clear(self, number: int | None = None) -> None:
        """End one fault, or all. A number that is not in force is left alone."""
        for each in list(self._faults) if number is None else [number]:
            if fault := self._faults.pop(each, None):
                fault.cleared = True

    def describe(self) -> dict[str, dict[str, Any]]:
        return {str(number): fault.describe() for number, fault in self._faults.items()}

    def take(self, key: str, *, presettled: bool, now_ns: int) -> Fault | None:
        """Return the first fault that applies to this message, and count the hit."""
        for fault in self._faults.values():
            if fault.applies(key, presettled=presettled, now_ns=now_ns) and (
                fault.ratio >= 1.0 or fault.rng.random() < fault.ratio
            ):
                fault.hits += 1
                return fault
        return None

    def stalls(self, key: str, now_ns: int) -> bool:
        return any(
            KINDS[fault.kind].stops_credit
            and fault.applies(key, presettled=fault.settlement == PRESETTLED, now_ns=now_ns)
            for fault in self._faults.values()
        )


def read(command: Mapping[str, Any], now_ns: int) -> Fault:
    """Make a fault from a command's fields; raises FaultError for what cannot be understood."""
    unknown = sorted(set(command) - set(_FIELDS))
    if unknown:
        raise FaultError(f"unknown: {', '.join(unknown)}; known are {', '.join(_FIELDS)}")
    for name, check in _FIELDS.items():
        if name in command:
            check(name, command[name])
    if "kind" not in command:
        raise FaultError(f"no kind; it is one of {', '.join(KINDS)}")
    seconds, count = command.get("seconds"), command.get("count")
    return Fault(
        kind=command["kind"],
        address=str(command.get("address", "*")),
        settlement=command.get("settlement", ANY),
        count=None if count is None else int(count),
        ratio=float(command.get("ratio", 1.0)),
        until_ns=None if seconds is None else now_ns + int(seconds * _SECOND_NS),
        options={name: value for name, value in command.items() if name not in COMMON_FIELDS},
        rng=random.Random(command.get("seed")),  # noqa: S311 -- simulated bad luck, not a secret
    )
