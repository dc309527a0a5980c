"""What an experiment ran on: versions, the machine, and which commit of what."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from deploy.topology.programs import PROGRAMS

_SECONDS: Final = 5.0
_LONGEST: Final = 200


def versions(beside: Path) -> dict[str, Any]:
    """Return versions of programs, and the commit of the folder in which the plan stands, if it has one."""
    programs = {one.command for one in PROGRAMS.values()}
    found = {name: _told([name, "--version"]) for name in sorted(programs) if shutil.which(name)}
    return {
        "inflight": version("inflight-monitor"),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "programs": {name: told for name, told in found.items() if told},
        "commit": commit(beside),
    }


def commit(folder: Path) -> str | None:
    """Return the commit that is checked out there, with a `+` where something was changed since."""
    found = _told(["git", "-C", str(folder), "rev-parse", "HEAD"])
    if not found:
        return None
    changed = _told(["git", "-C", str(folder), "status", "--porcelain", "--untracked-files=no"])
    return found + ("+" if changed else "")


def machine() -> dict[str, Any]:
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())


def _told(argv: list[str]) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()[:_LONGEST] if done.returncode == 0 else ""
