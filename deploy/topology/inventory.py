"""An Ansible inventory in INI: hosts in groups, and how each is reached."""

from __future__ import annotations

import shlex
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Final

from collectors.config.mistakes import Mistake
from deploy.topology.form import Machine
from deploy.topology.names import node_name

ROUTERS: Final = "routers"
BROKERS: Final = "brokers"
_KEPT: Final = tuple(Machine.model_fields)
_TRUE: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass
class Inventory:
    """`hosts` keep the variables that the form knows; others may hold secrets and are not read."""

    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    lines: dict[str, int] = field(default_factory=dict)
    mistakes: list[tuple[int, Mistake]] = field(default_factory=list)

    def members(self, group: str) -> list[str]:
        """Returns the hosts of a group and of the groups below it."""
        return list(dict.fromkeys(self._members(group, set())))

    def _members(self, group: str, seen: set[str]) -> list[str]:
        if group in seen:
            return []
        seen.add(group)
        below = self.groups.get(f"{group}:children", [])
        return [*self.groups.get(group, []), *(host for each in below for host in self._members(each, seen))]


def read(text: str) -> Inventory:
    """Reads an inventory; what was not understood is in its `mistakes`."""
    found = Inventory()
    section = "ungrouped"
    variables: list[tuple[str, dict[str, Any]]] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1].strip()
        elif section.endswith(":vars"):
            key, _, value = line.partition("=")
            variables.append((section.removesuffix(":vars"), _kept([f"{key.strip()}={value.strip()}"])))
        elif reason := _take(found, section, line, number):
            found.mistakes.append((number, ((section,), reason)))
    for group, given in variables:
        members = found.hosts if group == "all" else found.members(group)
        for host in found.hosts.keys() & members:
            found.hosts[host] = {**given, **found.hosts[host]}
    return found


def _take(found: Inventory, section: str, line: str, number: int) -> str | None:
    """Takes in a line of hosts; returns the reason where it cannot be understood."""
    try:
        name, *rest = shlex.split(line, comments=True)
    except ValueError:
        return "a quote is not closed"
    if "[" in name:
        return f"{name}: ranges are not read; write each host"
    if not section.endswith(":children"):
        try:
            node_name(name)
        except ValueError as error:
            return str(error)  # what stands there is not told: the file may be one of secrets
    found.groups[section].append(name)
    if not section.endswith(":children"):
        found.lines.setdefault(name, number)
        found.hosts.setdefault(name, {}).update(_kept(rest))
    return None


def _kept(pairs: list[str]) -> dict[str, Any]:
    split = (pair.partition("=") for pair in pairs)
    return {key: _value(key, value) for key, _, value in split if key in _KEPT}


def _value(key: str, text: str) -> Any:
    if key == "ansible_port" and text.isdecimal():
        return int(text)
    return _TRUE.get(text.lower(), text) if key == "ansible_become" else text
