"""Reads a topology, in whichever of its forms, and plans it; every mistake is told at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from collectors.config.load import ConfigError, read_text
from collectors.config.mistakes import Mistake, of_validation
from collectors.config.yaml_lines import Place, YamlFile, YamlMistake
from deploy.topology import inventory, node_link, plan, rules, shapes
from deploy.topology.form import Topology
from deploy.topology.inventory import Inventory
from deploy.topology.mistakes import Source
from deploy.topology.plan import PickPort, Plan

_YAML: Final = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class Network:
    """A topology, its plan, and the document of the form that it is made of, complete without other files."""

    document: dict[str, Any]
    plan: Plan

    @property
    def topology(self) -> Topology:
        return self.plan.topology


def from_file(
    file: Path, hosts: Path | None = None, program: str | None = None, pick: PickPort | None = None
) -> Network:
    """Reads a network from a file, its hosts from the inventory `hosts`; ConfigError tells every mistake.

    An inventory alone is a line of its routers. `pick` gives ports instead of counting.
    """
    if file.suffix not in _YAML:
        found = read_inventory(file)
        return from_shape(
            "line",
            found.members(inventory.ROUTERS),
            brokers_of(found),
            program,
            found,
            Source(str(file), _lines(found)),
            pick,
        )
    try:
        document = YamlFile(read_text(file))
    except YamlMistake as mistake:
        raise ConfigError([f"{file}:{mistake.line}: {mistake.reason}"]) from None
    twice = zip(document.duplicate_lines, document.duplicates, strict=True)
    source = Source(
        str(file),
        document.line,
        tuple((line, place, "is there twice; each name stands once") for line, place in twice),
    )
    value = document.value if document.value is not None else {}
    mistakes: list[Mistake] = []
    if node_link.is_node_link(value):
        converted = node_link.convert(value, _name(file))
        mistakes += converted.mistakes
        places = converted.places
        source = replace(
            source, line=lambda place: document.line((*places.get(place[:2], place[:2]), *place[2:]))
        )
        value = converted.document
    if mistakes:
        source.refuse(mistakes)
    if not isinstance(value, dict):
        source.refuse([((), "should hold keys and values, such as `version: 1` and `routers`")])
    beside = hosts or _inventory_of(value, file)
    if program:
        value = {**value, "program": program}
    return made(value, source, read_inventory(beside) if beside else None, pick)


def from_shape(
    shape: str,
    routers: Sequence[str],
    brokers: Sequence[tuple[str, str | None]] = (),
    program: str | None = None,
    hosts: Inventory | None = None,
    source: Source | None = None,
    pick: PickPort | None = None,
) -> Network:
    """Makes a network of a shape, its hosts from an inventory; ConfigError tells every mistake."""
    source = source or Source(shape)
    if not routers:
        source.refuse([(("routers",), "needs at least one")])
    more = {"program": program} if program else {}
    return made(shapes.document(shape, routers, brokers, **more), source, hosts, pick)


def made(
    value: Mapping[str, Any], source: Source, hosts: Inventory | None = None, pick: PickPort | None = None
) -> Network:
    """Makes a network of a document; ConfigError tells every mistake. `pick` gives ports."""
    document = dict(value)
    if hosts is not None:
        document.pop("inventory", None)
        own = document.get("hosts")
        document["hosts"] = _merged(hosts.hosts, own) if isinstance(own, dict) else hosts.hosts
    try:
        topology = Topology.model_validate(document)
    except ValidationError as error:
        source.refuse(of_validation(Topology, error))
        raise
    source.refuse(rules.references(topology))
    found = plan.make(topology, pick)
    source.refuse(rules.unworkable(found))
    return Network(document, found)


def _merged(hosts: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the hosts of both; what the file says of a host goes before what the inventory says."""
    both = {
        name: {**hosts[name], **given}
        for name, given in own.items()
        if name in hosts and isinstance(given, dict)
    }
    return {**hosts, **own, **both}


def read_inventory(file: Path) -> Inventory:
    """Reads an inventory; raises ConfigError where the file is none."""
    found = inventory.read(read_text(file))
    if found.mistakes:
        raise ConfigError(
            [f"{file}:{line}: {'.'.join(map(str, place))}: {why}" for line, (place, why) in found.mistakes]
        )
    if not found.hosts:
        raise ConfigError(
            [f"{file}: names no hosts; it should be an Ansible inventory, or a file called *.yaml"]
        )
    return found


def brokers_of(found: Inventory) -> list[tuple[str, str | None]]:
    return [(name, None) for name in found.members(inventory.BROKERS)]


def _inventory_of(value: Mapping[str, Any], file: Path) -> Path | None:
    given = value.get("inventory")
    return file.parent / given if isinstance(given, str) and given.isprintable() else None


def _lines(found: Inventory) -> Any:
    def line(place: Place) -> int:
        return found.lines.get(str(place[1]), 1) if len(place) > 1 else 1

    return line


def _name(file: Path) -> str:
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "._") else "-" for c in file.stem).strip("-._")
    return kept.replace("--", "-")[:63] or "mesh"
