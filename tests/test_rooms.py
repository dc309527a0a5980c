"""A room is a folder, or a module at a folder's top: what each may import, and that the map has them all."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

_PROJECT = Path(__file__).resolve().parents[1]
_FOLDERS = ("collectors", "streaming", "dashboards", "deploy")
# What a room may import of its own folder, beside itself. What stands left of the folder, all may.
_MAY_IMPORT = {
    "collectors/contract": "",
    "collectors/config": "",
    "collectors/process": "",
    "collectors/amqp": "config",
    "collectors/http": "contract process",
    "collectors/kafka": "config contract process",
    "collectors/polling": "contract http process",
    "collectors/router": "amqp config contract polling process",
    "collectors/broker": "config contract http polling process",
    "collectors/runner": "broker config polling process router",
    "collectors/probe": "amqp config contract process",
    "streaming/histogram": "",
    "streaming/sizing": "",
    "streaming/states": "",
    "streaming/wording": "",
    "streaming/accounting": "histogram",
    "streaming/shard": "accounting",
    "streaming/attribution": "",
    "streaming/analysis": "",
    "streaming/archive": "",
    "streaming/spark": "accounting archive attribution shard",
    "streaming/exporter": "accounting histogram states wording",
    "dashboards/promql": "",
    "dashboards/style": "",
    "dashboards/reference": "",
    "dashboards/event_lines": "",
    "dashboards/grafana": "",
    "dashboards/panel_queries": "",
    "dashboards/queries": "promql",
    "dashboards/boards": "promql queries style",
    "dashboards/build": "boards",
    "dashboards/alerts": "",
    "dashboards/publish": "alerts grafana panel_queries",
    "dashboards/page": "",
    "dashboards/terminal": "event_lines",
    "dashboards/report": "",
    "deploy/errors": "",
    "deploy/extra": "errors",
    "deploy/control_socket": "",
    "deploy/logs": "",
    "deploy/signals": "",
    "deploy/marks": "errors",
    "deploy/options": "errors",
    "deploy/jvm": "errors",
    "deploy/setup": "jvm",
    "deploy/ping": "errors",
    "deploy/live_check": "errors logs",
    "deploy/status": "errors options",
    "deploy/trace": "",
    "deploy/loads": "errors extra logs ping signals",
    "deploy/report": "errors marks",
    "deploy/why": "errors",
    "deploy/results": "errors",
    "deploy/compare": "errors experiment results",
    "deploy/parts": "errors jvm marks ping signals",
    "deploy/spark_submit": "errors jvm parts",
    "deploy/standin": "control_socket errors logs",
    "deploy/topology": "",
    "deploy/examples": "",
    "deploy/actions": "embedded errors lab marks topology why",
    "deploy/embedded": "errors jvm standin topology",
    "deploy/lab": "control_socket embedded errors jvm logs signals standin topology",
    "deploy/demo": "actions embedded errors jvm lab signals topology why",
    "deploy/experiment": (
        "actions control_socket embedded errors extra jvm lab loads logs parts ping topology"
    ),
    "deploy/commands": (
        "actions compare demo errors experiment extra lab live_check logs marks options parts ping report"
        " results signals spark_submit status topology trace why"
    ),
    "deploy/cli": "commands logs",
    "deploy/__main__": "cli",
}
# Inside the probe: what an end measures and keeps knows of no protocol, and no protocol of what is measured.
_INSIDE_THE_PROBE = {
    "measure": "message transport",
    "durable": "engine/loop measure message publisher",
    "engine": "message transport",
}


def _imported(file: Path) -> set[str]:
    """Returns the paths, with no suffix, of all modules of the project that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names] + [node.module]
        found |= {name.replace(".", "/") for name in names if name.partition(".")[0] in _FOLDERS}
    return {path for path in found if (_PROJECT / f"{path}.py").exists()}


def _rooms() -> list[str]:
    """Returns all folders that hold Python, and modules at the tops, in the five given folders."""
    places = [place for folder in _FOLDERS for place in (_PROJECT / folder).iterdir()]
    rooms = [p for p in places if p.suffix == ".py" or (p.is_dir() and any(p.rglob("*.py")))]
    return sorted(str(p.relative_to(_PROJECT).with_suffix("")) for p in rooms if p.name != "__init__.py")


def _files(room: str) -> list[Path]:
    place = _PROJECT / room
    return sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]


def test_every_room_has_a_rule() -> None:
    """A new room says here what it may import."""
    assert _rooms() == sorted(_MAY_IMPORT)


@pytest.mark.parametrize("room", sorted(_MAY_IMPORT))
def test_a_room_imports_only_what_it_may(room: str) -> None:
    folder = room.partition("/")[0]
    allowed = {room, *(f"{folder}/{name}" for name in _MAY_IMPORT[room].split())}
    wrong = {
        str(file.relative_to(_PROJECT)): path
        for file in _files(room)
        for path in _imported(file)
        if path.startswith(f"{folder}/") and "/".join(path.split("/")[:2]) not in allowed
    }
    assert wrong == {}


@pytest.mark.parametrize("room", sorted(_INSIDE_THE_PROBE))
def test_inside_the_probe_too(room: str) -> None:
    probe = "collectors/probe/"
    allowed = tuple(probe + name for name in (room, *_INSIDE_THE_PROBE[room].split()))
    wrong = {
        str(file.relative_to(_PROJECT)): path
        for file in _files(probe + room)
        for path in _imported(file)
        if path.startswith(probe) and not path.startswith(allowed)
    }
    assert wrong == {}


def test_the_map_has_every_room() -> None:
    """Each folder, each module at a folder's top, and nothing that is not there."""
    text = (_PROJECT / "ARCHITECTURE.md").read_text()
    there = {f"{room}.py" if (_PROJECT / f"{room}.py").exists() else f"{room}/" for room in _rooms()}
    inside = ("collectors/probe", "deploy/embedded", "deploy/standin")
    there |= {
        f"{p.relative_to(_PROJECT)}/" for place in inside for p in (_PROJECT / place).iterdir() if p.is_dir()
    }
    named = set(re.findall(r"`((?:collectors|streaming|dashboards|deploy)/[\w./-]+)`", text))
    assert {room for room in there if not room.endswith("__pycache__/")} - named == set()
    assert {name for name in named if not (_PROJECT / name).exists()} == set()
