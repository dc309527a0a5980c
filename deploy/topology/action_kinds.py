"""What can be done to a network, as one table: to what, with which fields, undone by what. Pure.

Who carries it out, here and elsewhere, says which of it that is, and how.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

LinkFault = Literal["delay", "limit", "stall", "cut", "move", "loss", "reorder"]
Verb = Literal[
    "kill",
    "stop",
    "pause",
    "restart",
    "start",
    "resume",
    LinkFault,
    "clear",
    "clock",
    "command",
]
Target = Literal["part", "link", "part or link"]


@dataclass(frozen=True)
class Kind:
    """One kind of action. `began`, `lasted` and `over` have {what}, {time} and its fields in braces."""

    help: str
    of: Target
    began: str
    lasted: str  # once it is over, as its event says it
    over: str  # the same, as who watches is told
    undo: Verb | None = None
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        return self.needs + self.may


_DOWN: Final = "{what} down for {time}"
_BACK: Final = "{what} is back after {time}"
_AS_BEFORE: Final = "{what} is as it was after {time}"
_ONE_WAY: Final = ("direction",)


def _of_link(
    text: str, began: str, needs: tuple[str, ...] = (), may: tuple[str, ...] = (), lasted: str | None = None
) -> Kind:
    lasting = f"{{what}} {lasted or began} for {{time}}"
    return Kind(text, "link", f"{{what}} {began}", lasting, _AS_BEFORE, "clear", needs, may)


def _at_once(text: str, of: Target, done: str, may: tuple[str, ...] = ()) -> Kind:
    return Kind(text, of, f"{{what}} {done}", f"{{what}} {done}", f"{{what}} {done}", may=may)


KINDS: Final[dict[Verb, Kind]] = {
    "kill": Kind("ended as by a crash", "part", "{what} killed", _DOWN, _BACK, "start"),
    "stop": Kind("ended in order", "part", "{what} stopped", _DOWN, _BACK, "start"),
    "pause": Kind(
        "stands still: connections stay open, nobody answers",
        "part",
        "{what} paused",
        "{what} stood still for {time}",
        "{what} goes on after {time}",
        "resume",
    ),
    "restart": Kind(
        "ended in order, and started again",
        "part",
        "{what} restarts",
        "{what} restarted in {time}",
        "{what} restarted in {time}",
    ),
    "start": _at_once("started", "part", "started"),
    "resume": _at_once("goes on after a pause", "part", "resumed"),
    "delay": _of_link("what passes comes later", "delayed by {ms:g} ms", ("ms",), ("jitter_ms", *_ONE_WAY)),
    "limit": _of_link(
        "so many bytes a second pass",
        "limited to {bytes_per_second} bytes/s",
        ("bytes_per_second",),
        _ONE_WAY,
    ),
    "stall": _of_link("nothing passes, connections stay", "stalled", may=_ONE_WAY),
    "cut": _of_link("connections are reset, new ones refused", "cut"),
    "move": _of_link("who dials gets to another part; only by relays", "moved to {to}", ("to",)),
    "loss": _of_link(
        "packets are lost; only between namespaces",
        "loses {percent:g} % of packets",
        ("percent",),
        _ONE_WAY,
        lasted="lost {percent:g} % of packets",
    ),
    "reorder": _of_link(
        "packets overtake each other; only between namespaces",
        "re-orders {percent:g} % of packets",
        ("percent",),
        _ONE_WAY,
        lasted="re-ordered {percent:g} % of packets",
    ),
    "clear": _at_once("all faults of a link are taken away, or that one", "link", "cleared", ("fault",)),
    "clock": Kind(
        "its clock is wrong: a process of Inflight with INFLIGHT_CLOCK_FILE=file",
        "part",
        "the clock of {what} wrong by {offset_ms:g} ms",
        "the clock of {what} was wrong for {time}",
        "the clock of {what} is right again after {time}",
        "clear",
        ("offset_ms", "file"),
    ),
    "command": Kind(
        "a command of yours",
        "part or link",
        "{program} runs on {what}",
        "{program} on {what} took {time}",
        "{program} on {what} is over after {time}",
        None,  # its own field `undo`
        ("run",),
        ("undo", "from", "secrets"),
    ),
}

# The least and the largest value of a field that is a number.
_BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "ms": (0, 10_000),
    "jitter_ms": (0, 10_000),
    "bytes_per_second": (1_000, 1_000_000_000),
    "percent": (0, 100),
    "offset_ms": (-1_000_000_000, 1_000_000_000),
}


def check_field(do: Verb, name: str, value: object) -> None:
    """Raise ValueError, whose text goes on from the field's name, if it or its value is none of it."""
    if name not in KINDS[do].fields:
        fields = ", ".join(KINDS[do].fields)
        raise ValueError(f"is not for `{do}`, which has {fields or 'no fields of its own'}")
    if name in _BOUNDS:
        least, largest = _BOUNDS[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= largest:
            told = f"{value:g}" if isinstance(value, float) else ascii(value)
            raise ValueError(f"is a number from {least:,} to {largest:,}, not {told}")


def check_together(do: Verb, fields: Mapping[str, Any]) -> None:
    """Raise ValueError if a field is missing, or does not go with another one."""
    if missing := [name for name in KINDS[do].needs if fields.get(name) is None]:
        raise ValueError(f"`{do}` needs {' and '.join(f'`{name}`' for name in missing)}")
    if fields.get("jitter_ms", 0) > fields.get("ms", 0):
        raise ValueError("`jitter_ms` must not be more than `ms`: nothing can come early")
