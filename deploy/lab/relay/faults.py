"""What can be done to a link, as one table, and what that is to bytes that go one way. Pure."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from deploy.lab.relay.pace import Pace

CLEAR: Final = "clear"
_MS_NS: Final = 1_000_000
_LAST_PORT: Final = 65_535


class FaultError(ValueError):
    """A command that cannot be carried out; the text says why."""


Check = Callable[[str, Any], None]  # of a field's name and value; raises FaultError


def _number(least: int, most: int) -> Check:
    def check(name: str, value: Any) -> None:
        known = isinstance(value, int | float) and not isinstance(value, bool)
        if not (known and math.isfinite(value) and least <= value <= most):
            raise FaultError(f"{name} is a number from {least:,} to {most:,}, not {value!a}")

    return check


def _place(name: str, value: Any) -> None:
    if not isinstance(value, str) or address(value) is None:
        raise FaultError(f"{name} is IP:PORT, not {value!a}")


def address(text: str) -> tuple[str, int] | None:
    """Returns host and port of `IP:PORT`; names are not looked up, as that would hold up all links."""
    host, _, port = text.rpartition(":")
    try:
        ipaddress.ip_address(host.strip("[]"))
        number = int(port)
    except ValueError:
        return None
    return (host.strip("[]"), number) if 0 < number <= _LAST_PORT else None


@dataclass(frozen=True)
class Kind:
    help: str
    needed: Mapping[str, Check] = field(default_factory=dict)
    optional: Mapping[str, Check] = field(default_factory=dict)
    one_way: bool = False  # it may have a direction
    begin_resets: bool = False  # the connections that there are
    end_resets: bool = False


KINDS: Final = {
    "delay": Kind(
        "bytes come later, by ms give or take jitter_ms, in their order",
        {"ms": _number(0, 10_000)},
        {"jitter_ms": _number(0, 10_000)},
        one_way=True,
    ),
    "limit": Kind(
        "all connections of the link together pass so many bytes_per_second each way",
        {"bytes_per_second": _number(1_000, 1_000_000_000)},
        one_way=True,
    ),
    "stall": Kind("nothing passes, connections stay, and new ones hang", one_way=True),
    "cut": Kind("connections are reset, and new ones refused", begin_resets=True),
    "move": Kind(
        "connections are reset, and what dials comes to another place",
        {"to": _place},
        begin_resets=True,
        end_resets=True,
    ),
}


def read(command: Mapping[str, Any], directions: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """Returns the kind of a command and its fields, all checked."""
    name = command.get("do")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None or not isinstance(name, str):
        raise FaultError(f"do is one of {', '.join((*KINDS, CLEAR))}, not {name!a}")
    checks = {**kind.needed, **kind.optional}
    if kind.one_way:
        checks["direction"] = _one_of(directions)
    given = {key: value for key, value in command.items() if key not in {"do", "link"}}
    for key, value in given.items():
        if key not in checks:
            raise FaultError(f"{name} has no {key}; it has {', '.join(checks) or 'no fields'}")
        checks[key](key, value)
    if missing := [key for key in kind.needed if key not in given]:
        raise FaultError(f"{name} needs {' and '.join(missing)}")
    if given.get("jitter_ms", 0) > given.get("ms", 0):
        raise FaultError("jitter_ms must not be more than ms, since no byte can be early")
    return name, given


def _one_of(directions: tuple[str, ...]) -> Check:
    def check(name: str, value: Any) -> None:
        if value not in directions:
            raise FaultError(f"{name} is {' or '.join(directions)}, or left out for both, not {value!a}")

    return check


def pace(faults: Mapping[str, Mapping[str, Any]], direction: str) -> Pace:
    """Returns what the faults of a link are to the bytes that go in one direction."""
    here = {kind: f for kind, f in faults.items() if f.get("direction", direction) == direction}
    delay, limit = here.get("delay", {}), here.get("limit", {})
    return Pace(
        delay_ns=int(delay.get("ms", 0) * _MS_NS),
        jitter_ns=int(delay.get("jitter_ms", 0) * _MS_NS),
        bytes_per_second=limit.get("bytes_per_second"),
        stalled="stall" in here,
    )
