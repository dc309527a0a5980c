"""The faults of a link, as every wiring keeps them: told one by one, at most one of each kind. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from deploy.errors import Problem
from deploy.topology.action_kinds import LinkFault, Verb, check_field, check_together

CLEAR: Final = "clear"
Faults = Mapping[LinkFault, Mapping[str, Any]]  # the fields of each


@dataclass(frozen=True)
class Choices:
    """What a wiring knows of a link: the kinds of faults, and what some of their fields may be."""

    kinds: Collection[LinkFault]
    directions: Collection[str]
    moves_to: Collection[str] = ()


def changed(faults: Faults, command: Mapping[str, Any], choices: Choices) -> Faults:
    """Return the faults of a link after a command; raises Problem if it is not one."""
    do = command.get("do")
    fields = {name: value for name, value in command.items() if name not in {"do", "link"}}
    known = {"direction": choices.directions, "to": choices.moves_to, "fault": choices.kinds}
    kind = next((kind for kind in choices.kinds if kind == do), None)
    if kind is None and do != CLEAR:
        raise Problem(f"{do!a} is none of {', '.join((*choices.kinds, CLEAR))}")
    verb: Verb = kind or CLEAR
    for name, value in fields.items():
        try:
            check_field(verb, name, value)
        except ValueError as error:
            raise Problem(f"{verb}: {name} {error}") from None
        if name in known and value not in list(known[name]):
            raise Problem(f"{verb}: {name} is one of {', '.join(known[name])}, not {value!a}")
    try:
        check_together(verb, fields)
    except ValueError as error:
        raise Problem(str(error)) from None
    if kind is not None:
        return {**faults, kind: fields}
    return {kind: on for kind, on in faults.items() if kind != fields.get("fault", kind)}


def told(faults: Faults) -> list[dict[str, Any]]:
    """Return them as commands have them."""
    return [{"do": kind, **fields} for kind, fields in faults.items()]


def in_direction(faults: Faults, direction: str) -> Faults:
    """Return those of one direction, and of both."""
    return {kind: on for kind, on in faults.items() if on.get("direction", direction) == direction}
