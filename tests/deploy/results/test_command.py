"""`inflight experiment report`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_results import result_folder

from deploy.cli import main


def test_it_writes_the_page_and_says_the_answer(tmp_path: Path) -> None:
    """Into the folder unless said otherwise; again in place of the one before."""
    made = result_folder(tmp_path / "r", only=2)
    for page, arguments in (
        (made / "report.html", []),
        (tmp_path / "x.html", ["--html", str(tmp_path / "x.html")]),
    ):
        for _ in range(2):
            done = CliRunner().invoke(main, ["experiment", "report", str(made), *arguments])
            assert done.exit_code == 0, done.output
            assert done.output == f"Lost <= 0.1% held in all 2 runs.\nreport: {page}\n"
        assert "1 of 3 runs are missing" in page.read_text()
    assert not list(tmp_path.rglob(".*"))


def test_mistakes_have_status_2(tmp_path: Path) -> None:
    """And one sentence."""
    for name, said in (("none", "is not there"), ("", "is no result folder")):
        done = CliRunner().invoke(main, ["experiment", "report", str(tmp_path / name)])
        assert done.exit_code == 2
        assert said in done.output


@pytest.mark.parametrize("package", ["bokeh", "scipy"])
@pytest.mark.parametrize("arguments", [("experiment", "report", "r"), ("compare", "r", "r")])
def test_without_the_extra_it_says_what_to_install(
    tmp_path: Path, package: str, arguments: tuple[str, ...]
) -> None:
    """As it is not needed for anything else."""
    result_folder(tmp_path / "r", repetitions=1)
    code = (
        f"import sys; sys.modules['{package}'] = None; from deploy.cli import main; main({list(arguments)})"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert ran.stderr == (
        f"inflight: this needs {package}, which is not installed:"
        " pip install 'inflight-monitor[experiments]'\n"
    )
