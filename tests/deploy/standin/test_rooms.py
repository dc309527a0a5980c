"""Which room of the stand-in may import which when it runs; imports for types alone are left out."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import deploy.standin

_ROOT = Path(deploy.standin.__file__).parent
_ROOMS = {
    "engine": {"engine"},
    "routing": {"engine", "routing"},
    "faults": {"engine", "routing", "faults"},
    "management": {"engine", "routing", "management"},
}
_PURE = {  # modules of ours that each may import
    "routing/addresses.py": set(),
    "routing/selection.py": {"deploy.standin.routing.addresses"},
    "routing/topology.py": set(),
    "engine/counters.py": set(),
    "engine/credit.py": set(),
    "faults/kinds.py": set(),
    "faults/rules.py": {"deploy.standin.faults.kinds", "deploy.standin.routing"},
    "management/agent.py": {"deploy.standin.flavours", "deploy.standin.management"},
    "management/schema.py": {"deploy.standin.flavours"},
}


def _imported(file: Path) -> set[str]:
    names = set()
    for node in ast.parse(file.read_text()).body:  # not what stands under `if TYPE_CHECKING`
        if isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


@pytest.mark.parametrize("room", sorted(_ROOMS))
def test_rooms_import_in_one_direction(room: str) -> None:
    """The engine knows no other room; faults and management know engine and routing, but not each other."""
    files = sorted((_ROOT / room).glob("*.py"))
    rooms = {
        name.split(".")[2]
        for file in files
        for name in _imported(file)
        if name.startswith("deploy.standin.") and (_ROOT / name.split(".")[2]).is_dir()
    }
    assert files
    assert rooms <= _ROOMS[room]


@pytest.mark.parametrize("name", sorted(_PURE))
def test_pure_modules_know_no_proton_and_no_socket(name: str) -> None:
    """Arithmetic, tables and rules import nothing that needs a connection to be tested."""
    found = _imported(_ROOT / name)
    assert not found & {"proton", "cproton_ffi", "socket", "selectors", "time"}
    assert {module for module in found if module.startswith(("deploy", "collectors"))} <= _PURE[name]
