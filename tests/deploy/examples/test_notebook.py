"""The example of a notebook runs on a result folder, with pandas and Bokeh alone."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from made_results import result_folder

import deploy

NOTEBOOK = Path(deploy.__file__).parent / "examples/notebooks/results.py"


@pytest.mark.parametrize("factors", [{}, {"load.size": ["256B", "4kB"]}])
def test_it_runs(tmp_path: Path, factors: dict[str, list[str]]) -> None:
    """With factors and without; it prints a row for each run, and draws."""
    made = result_folder(tmp_path / "r", factors=factors, repetitions=2, files=True, lost=3)
    ran = subprocess.run(
        [sys.executable, NOTEBOOK],
        env={**os.environ, "RESULTS": str(made)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "What does a restart of the middle router lose?" in ran.stdout
    assert ran.stdout.count("100.0") or ran.stdout.count("99.9")
    assert (made / "p99.html").stat().st_size > 1_000_000


def test_it_needs_nothing_of_inflight() -> None:
    """Whoever gets a folder can read it."""
    tops = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(NOTEBOOK.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [n.name for n in node.names]
        )
    }
    assert tops == {"json", "os", "pathlib", "pandas", "bokeh"}
