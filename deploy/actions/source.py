"""Where a command of the user's runs: a folder, or a git repository at exactly one commit."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from collectors.process.private_files import private_folder
from deploy.actions import program
from deploy.actions.steps import FailedError, Within
from deploy.errors import Problem
from deploy.topology.action import Source

_GIT_SECONDS: Final = 120.0
# Nothing that a repository brings along is run.
_GIT: Final = (
    "git",
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "protocol.ext.allow=never"),
)
# Nobody is asked for a password.
_SETTINGS: Final = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes",
}
_OF_A_CALLING_HOOK: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")


def folder(source: Source, beside: Path, cache: Path | None = None) -> Path:
    """Return the folder, fetched if need be; raises Problem if it is not as the commit has it.

    A folder's name is looked up from `beside`, the folder of the file that names it.
    """
    if source.folder is not None:
        found = (beside / source.folder.expanduser()).absolute()
        if not found.is_dir():
            raise Problem(f"{found} is no folder")
        if source.commit is not None:
            _check(found, source.commit)
        return found
    place = _cache(cache) / hashlib.sha256(f"{source.git} {source.commit}".encode()).hexdigest()[:32]
    if not (place / ".git").exists():
        _fetch(str(source.git), str(source.commit), place)
    _check(place, str(source.commit))
    return place


def _cache(given: Path | None) -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return given or Path(cache) / "inflight" / "commands"


def _fetch(repository: str, commit: str, place: Path) -> None:
    """Fetch this one commit. It has its name when it is whole, so that an end in the middle leaves none."""
    part = place.with_name(f"{place.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        private_folder(part)
    except OSError as error:
        raise Problem(f"{part} cannot be made: {error.strerror}") from None
    what = f"{repository} at {commit}"
    _git(part, what, "init", "-q")
    _git(part, what, "fetch", "-q", "--depth=1", "--no-tags", "--no-recurse-submodules", repository, commit)
    _git(part, what, "checkout", "-q", "--detach", commit)
    try:
        part.rename(place)
    except OSError:
        if not place.exists():  # else someone fetched it at the same time
            raise


def _check(place: Path, commit: str) -> None:
    """Raise Problem unless this commit, and nothing else, is in the folder."""
    at = _git(place, str(place), "rev-parse", "--verify", "HEAD^{commit}").strip()
    if at != commit:
        raise Problem(f"{place} is at commit {at}, not at {commit}: nothing of it is run")
    # An index of its own: marks in the folder's (`--assume-unchanged`) would hide what was changed.
    with tempfile.TemporaryDirectory() as folder:
        index = {"GIT_INDEX_FILE": f"{folder}/index"}
        _git(place, str(place), "read-tree", "HEAD", env=index)
        changed = _git(
            place, str(place), "status", "--porcelain", "--untracked-files=all", "--ignored", env=index
        ).splitlines()
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise Problem(
            f"{place} is not as commit {commit} has it ({changed[0].strip()!a}{more}): nothing of it is run;"
            " commit it, or take the change back"
        )


def _git(place: Path, what: str, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    try:
        within = Within(_GIT_SECONDS, threading.Event())
        own = {name: value for name, value in os.environ.items() if name not in _OF_A_CALLING_HOOK}
        own |= {**_SETTINGS, **(env or {})}
        return program.run((*_GIT, *arguments), within, folder=place, env=own).output
    except FailedError as error:
        raise Problem(f"git {arguments[0]} of {what} failed: {error}") from None
