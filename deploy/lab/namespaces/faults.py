"""What can be told to a link, and what then becomes of the packets from one of its ends to the other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from deploy.errors import Problem
from deploy.lab.namespaces.layout import Wire

_MS: Final = 1_000_000
_REORDER_NS: Final = 10 * _MS  # what the packets that are overtaken wait for, on a link without delay
_DIRECTION: Final = ">"  # as in the monitor's routes: A>B


class Number(NamedTuple):
    """A field of a command, with its bounds; it must be there unless it has a default."""

    low: int
    high: int
    default: float | None = None


FIELDS: Final[Mapping[str, Mapping[str, Number]]] = MappingProxyType(
    {
        "cut": {},
        "stall": {},
        "loss": {"percent": Number(0, 100)},
        "limit": {"bytes_per_second": Number(1_000, 1_000_000_000)},
        "delay": {"ms": Number(0, 10_000), "jitter_ms": Number(0, 10_000, default=0)},
        "reorder": {"percent": Number(0, 100)},
    }
)
CLEAR: Final = "clear"


@dataclass(frozen=True)
class Fault:
    """One that was told: its fields, and the end whose packets it is about, None for both."""

    kind: str
    sender: str | None
    fields: Mapping[str, float] = field(default_factory=dict)

    def told(self, wire: Wire) -> dict[str, Any]:
        """Return it as a command has it."""
        where = {} if self.sender is None else {"direction": f"{self.sender}>{wire.other(self.sender)}"}
        return {"do": self.kind, **self.fields, **where}


Faults = Mapping[str, Fault]  # of a link, by kind: a repeat replaces


def changed(faults: Faults, command: Mapping[str, Any], wire: Wire) -> Faults:
    """Return the faults of a link after a command; raises Problem if it is not one."""
    kind = command.get("do")
    if kind == CLEAR:
        _no_others(command, CLEAR, ("fault",))
        which = command.get("fault")
        if which is not None and (not isinstance(which, str) or which not in FIELDS):
            raise Problem(f"{CLEAR}: fault is one of {', '.join(FIELDS)}, or left out for all")
        return {k: fault for k, fault in faults.items() if which not in {None, k}}
    fault = _read(str(kind), command, wire)
    return {**faults, fault.kind: fault}


def _read(kind: str, command: Mapping[str, Any], wire: Wire) -> Fault:
    _no_others(command, kind, (*FIELDS[kind], "direction"))
    fields = {name: _number(kind, name, command.get(name), bounds) for name, bounds in FIELDS[kind].items()}
    if fields.get("jitter_ms", 0) > fields.get("ms", 0):
        raise Problem(f"{kind}: jitter_ms must not be more than ms, since no packet can be early")
    return Fault(kind, _sender(kind, command.get("direction"), wire), fields)


def _no_others(command: Mapping[str, Any], kind: str, known: tuple[str, ...]) -> None:
    if others := sorted(map(str, command.keys() - {"do", "link", *known})):
        wanted = f"beside the link it knows {', '.join(known)}"
        raise Problem(f"{kind} has no {', '.join(others)}: {wanted}")


def _number(kind: str, name: str, value: object, bounds: Number) -> float:
    value = bounds.default if value is None else value
    right = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not (right and bounds.low <= value <= bounds.high):  # type: ignore[operator]  # `right`: it is a number
        raise Problem(f"{kind}: {name} is a number from {bounds.low:,} to {bounds.high:,}, not {value!a}")
    return value  # type: ignore[return-value]  # the same


def _sender(kind: str, direction: object, wire: Wire) -> str | None:
    if direction is None:
        return None
    directions = {f"{end}{_DIRECTION}{wire.other(end)}": end for end in wire.ends}
    if not isinstance(direction, str) or direction not in directions:
        raise Problem(f"{kind}: direction is {' or '.join(directions)}, or left out for both")
    return directions[direction]


@dataclass(frozen=True)
class Wait:
    """How long packets wait; the given share of them does not, and so overtakes the others."""

    delay_ns: int = 0
    jitter_ns: int = 0
    overtaking_percent: float = 0.0


@dataclass(frozen=True)
class Traffic:
    """What becomes of the packets of one direction; as it stands here, nothing."""

    cut: bool = False
    stall: bool = False
    loss_percent: float = 0.0
    bytes_per_second: float | None = None
    wait: Wait = Wait()


def traffic(faults: Faults, sender: str) -> Traffic:
    """Return what becomes of what the sender sends over a link with these faults."""
    on = {kind: fault.fields for kind, fault in faults.items() if fault.sender in {None, sender}}
    delay, overtaking = on.get("delay", {}), on.get("reorder", {}).get("percent", 0)
    delay_ns = round(delay.get("ms", 0) * _MS)
    return Traffic(
        cut="cut" in on,
        stall="stall" in on,
        loss_percent=on.get("loss", {}).get("percent", 0),
        bytes_per_second=on.get("limit", {}).get("bytes_per_second"),
        wait=Wait(
            delay_ns=delay_ns or (_REORDER_NS if overtaking else 0),
            jitter_ns=round(delay.get("jitter_ms", 0) * _MS),
            overtaking_percent=overtaking,
        ),
    )
