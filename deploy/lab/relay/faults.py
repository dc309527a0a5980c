"""What can be done to a link, as one table, and what that is to bytes that go one way. Pure."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from deploy.lab.relay.pace import Pace
from deploy.standin.faults.kinds import Check, FaultError, one_of

_MS_NS: Final = 1_000_000
_LAST_PORT: Final = 65_535
_MOST_MS: Final = 600_000
_MOST_BYTES_PER_SECOND: Final = 10**12
DIRECTIONS: Final = ("to", "from")  # towards the second and the first name of the link
BOTH: Final = "both"


def _number(least: float, most: float) -> Check:
    def check(name: str, value: Any) -> None:
        known = isinstance(value, int | float) and not isinstance(value, bool)
        if not (known and math.isfinite(value) and least <= value <= most):
            raise FaultError(f"{name} is a number from {least:g} to {most:g}, not {value!r}")

    return check


def _place(name: str, value: Any) -> None:
    if not isinstance(value, str) or address(value) is None:
        raise FaultError(f"{name} is IP:PORT, not {value!r}")


def address(text: str) -> tuple[str, int] | None:
    """Returns host and port of `IP:PORT`; names are not looked up, as that would stop all links."""
    host, _, port = text.rpartition(":")
    try:
        ipaddress.ip_address(host.strip("[]"))
        number = int(port)
    except ValueError:
        return None
    return (host.strip("[]"), number) if 0 < number <= _LAST_PORT else None


@dataclass(frozen=True)
class Kind:
    """A kind of fault. Those with `resets` end the connections that there are, when they begin and end."""

    help: str
    needed: Mapping[str, Check] = field(default_factory=dict)
    optional: Mapping[str, Check] = field(default_factory=dict)
    begin_resets: bool = False
    end_resets: bool = False


_ONE_WAY: Final = {"direction": one_of(*DIRECTIONS, BOTH)}
KINDS: Final = {
    "delay": Kind(
        "bytes come later, by ms give or take jitter_ms, in their order",
        {"ms": _number(0, _MOST_MS)},
        {"jitter_ms": _number(0, _MOST_MS), **_ONE_WAY},
    ),
    "limit": Kind(
        "all connections of the link together pass so many bytes_per_second each way",
        {"bytes_per_second": _number(1, _MOST_BYTES_PER_SECOND)},
        _ONE_WAY,
    ),
    "stall": Kind("nothing passes, connections stay, and new ones hang", optional=_ONE_WAY),
    "cut": Kind("connections are reset, and new ones at once", begin_resets=True),
    "move": Kind(
        "connections are reset, and what dials comes to another place",
        {"to": _place},
        begin_resets=True,
        end_resets=True,
    ),
}


def read(command: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Returns the kind of a command and its fields, all checked."""
    kind = command.get("do")
    if not isinstance(kind, str) or kind not in KINDS:
        raise FaultError(f"do is one of {', '.join(KINDS)}, not {kind!r}")
    given = {name: value for name, value in command.items() if name not in {"do", "link"}}
    checks = {**KINDS[kind].needed, **KINDS[kind].optional}
    for name, value in given.items():
        if name not in checks:
            raise FaultError(f"{kind} has no {name}; it has {', '.join(checks) or 'no fields'}")
        checks[name](name, value)
    if missing := [name for name in KINDS[kind].needed if name not in given]:
        raise FaultError(f"{kind} needs {' and '.join(missing)}")
    return kind, given


def pace(faults: Mapping[str, Mapping[str, Any]], direction: str) -> Pace:
    """Returns what the faults of a link are to the bytes that go in one direction."""
    here = {kind: f for kind, f in faults.items() if f.get("direction", BOTH) in {direction, BOTH}}
    delay, limit = here.get("delay", {}), here.get("limit", {})
    return Pace(
        delay_ns=int(delay.get("ms", 0) * _MS_NS),
        jitter_ns=int(delay.get("jitter_ms", 0) * _MS_NS),
        bytes_per_second=limit.get("bytes_per_second"),
        stalled="stall" in here,
    )
