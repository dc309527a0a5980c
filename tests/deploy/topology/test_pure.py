"""The model knows files only where it reads them, and neither sockets nor the clock."""

from __future__ import annotations

import ast
from pathlib import Path

ROOM = Path(__file__).parents[3] / "deploy" / "topology"
SHELL = {"load.py"}
IMPURE = {"socket", "time", "datetime", "subprocess", "os", "random", "proton", "requests"}
FILES = {"open", "read_text", "read_bytes", "write_text", "write_bytes", "exists", "iterdir", "glob"}


def imported(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module).partition(".")[0])
    return found


def called(file: Path) -> set[str]:
    calls = (node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call))
    return {getattr(function, "attr", getattr(function, "id", "")) for function in calls}


def test_no_sockets_no_clock() -> None:
    files = [file for file in ROOM.rglob("*.py") if file.name not in SHELL]
    assert len(files) > 15
    assert {file.name: bad for file in files if (bad := imported(file) & IMPURE)} == {}
    assert {file.name: bad for file in files if (bad := called(file) & FILES)} == {}
