"""What can be done to a network, as one table: to what, with which fields, undone by what. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Verb = Literal[
    "kill",
    "stop",
    "pause",
    "restart",
    "start",
    "resume",
    "delay",
    "limit",
    "stall",
    "cut",
    "move",
    "loss",
    "reorder",
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


def _at_once(text: str, of: Target, done: str) -> Kind:
    return Kind(text, of, f"{{what}} {done}", f"{{what}} {done}", f"{{what}} {done}")


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
    "move": _of_link("who dials gets to another part", "moved to {to}", ("to",)),
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
    "clear": _at_once("as it was, all faults of a link gone", "link", "cleared"),
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
