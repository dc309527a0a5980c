"""The older generator's graph, node-link YAML as networkx writes it, as a document of the form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from collectors.config.mistakes import Mistake
from collectors.config.yaml_lines import Place
from deploy.topology.form import ENTITY_KINDS

_MODES: Final = {"inter-router": "interior"}  # the older generator's word
_RENAMED: Final = {"dir": "direction", "sslprofile": "sslProfile"}
_NODE_KEYS: Final = {"type", "id", "mode", "host", "group", "def_list", "def_conn", *ENTITY_KINDS}
_LINK_KEYS: Final = {"source", "target", "key", "cost", "weight", "value"}


@dataclass
class Converted:
    """`places`: where in the graph each router and broker of the document stands."""

    document: dict[str, Any]
    places: dict[Place, Place] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)


def is_node_link(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("nodes"), list) and "version" not in value


def convert(value: Mapping[str, Any], name: str) -> Converted:
    """Returns the graph as a document of the form.

    Each broker gets a queue `inflight.NAME`, to which its routers lead by link routes, as they did.
    """
    document: dict[str, Any] = {"version": 1, "name": name, "routers": {}, "brokers": {}, "links": []}
    found = Converted(document)
    order: list[str] = []
    for number, node in enumerate(value["nodes"]):
        order.append(_node(found, ("nodes", number), node))
    links = value.get("links", value.get("edges", []))
    if not isinstance(links, list):
        found.mistakes.append((("links",), "should be a list of `source` and `target`"))
        links = []
    for number, link in enumerate(links):
        _link(found, ("links", number), link, order)
    return found


def _node(found: Converted, place: Place, node: object) -> str:
    """Takes in a node; returns its name."""
    if not isinstance(node, dict) or "id" not in node or str(node.get("type")) not in {"router", "broker"}:
        found.mistakes.append((place, "a node has an `id`, and a `type`: router or broker"))
        return ""
    name = str(node["id"])
    kind = f"{node['type']}s"
    for key in sorted(node.keys() - _NODE_KEYS):
        found.mistakes.append(((*place, key), f"unknown key; known here: {', '.join(sorted(_NODE_KEYS))}"))
    if name in found.document["routers"] or name in found.document["brokers"]:
        found.mistakes.append(((*place, "id"), f"{name!r} is there twice"))
    made: dict[str, Any] = {"queues": [f"inflight.{name}"]} if kind == "brokers" else {}
    if "host" in node:
        made["host"] = node["host"]
    if "mode" in node and kind == "routers":
        made["mode"] = _MODES.get(str(node["mode"]), node["mode"])
    given = {key: _several(node[key]) for key in ENTITY_KINDS if key in node}
    if given:
        made["entities"] = given
    found.document[kind][name] = made
    found.places[kind, name] = place
    return name


def _several(value: object) -> object:
    items = value if isinstance(value, list) else [value]
    return [
        {_RENAMED.get(key, key): given for key, given in item.items()} if isinstance(item, dict) else item
        for item in items
    ]


def _link(found: Converted, place: Place, link: object, order: list[str]) -> None:
    if not isinstance(link, dict) or not {"source", "target"} <= link.keys():
        found.mistakes.append((place, "a link has a `source` and a `target`"))
        return
    for key in sorted(link.keys() - _LINK_KEYS):
        found.mistakes.append(((*place, key), f"unknown key; known here: {', '.join(sorted(_LINK_KEYS))}"))
    source, target = (_end(link[key], order) for key in ("source", "target"))
    made: dict[str, Any] = {"from": source, "to": target}
    brokers = [end for end in (source, target) if end in found.document["brokers"]]
    if len(brokers) == 1:
        made["link_routes"] = [f"inflight.{brokers[0]}"]
    elif brokers:
        made["queues"] = [f"inflight.{source}"]
    else:
        cost = next((link[key] for key in ("cost", "weight", "value") if key in link), None)
        if cost is not None:
            made["cost"] = cost
    found.document["links"].append(made)


def _end(value: object, order: list[str]) -> str:
    """Returns the name of a node, which older versions of networkx give by its number in the list."""
    if isinstance(value, int) and str(value) not in order and 0 <= value < len(order):
        return order[value]
    return str(value)
