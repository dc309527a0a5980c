"""What is installed is what is in the repository."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("collectors", "streaming", "dashboards", "deploy")
# The README shows them; nobody who installs a wheel looks for them in it.
LEFT_OUT = "dashboards/pictures/"


def test_a_wheel_holds_every_file_of_the_packages(tmp_path: Path) -> None:
    """Code, queries, rules, rights, examples: help texts and pages name files among them."""
    listed = subprocess.run(
        ["git", "ls-files", *PACKAGES], cwd=ROOT, check=True, capture_output=True, text=True
    )
    tracked = {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
    source = tmp_path / "source"
    for name in [*tracked, "pyproject.toml", "README.md", "LICENSE"]:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "-w", str(tmp_path), str(source)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == {name for name in tracked if not name.startswith(LEFT_OUT)}
