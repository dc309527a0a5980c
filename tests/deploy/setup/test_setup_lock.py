"""The lock files say the same as pyproject.toml, and nothing of the machine they were made on."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_PROJECT = Path(__file__).resolve().parents[3]
_RUN, _DEV = (
    (_PROJECT / "deploy" / "setup" / f"requirements{kind}.lock").read_text() for kind in ("", "-dev")
)
_META = tomllib.loads((_PROJECT / "pyproject.toml").read_text())
_GROUPS = _META["dependency-groups"]
_ASKED = [(_RUN, asked) for asked in (*_META["project"]["dependencies"], *_GROUPS["build"])]
_ASKED += [(_DEV, asked) for asked in _GROUPS["dev"]]
_VERSION = r"^([\w.-]+)==(\S+)"


@pytest.mark.parametrize(("lock", "asked"), _ASKED, ids=[asked for _, asked in _ASKED])
def test_what_is_asked_for_is_locked(lock: str, asked: str) -> None:
    """A range that was changed without `make lock` is told here, before somebody's set-up differs."""
    requirement = Requirement(asked)
    versions = dict(re.findall(_VERSION, lock, re.MULTILINE))
    assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), "run `make lock`"


def test_the_tools_have_the_extra_of_experiments() -> None:
    """A group cannot name an extra, so `dev` repeats it: in the same ranges."""
    assert set(_META["project"]["optional-dependencies"]["experiments"]) <= set(_GROUPS["dev"])


def test_the_tools_are_those_that_fit() -> None:
    """What both files list they list in one version: the tools come on top of what is there."""
    run, dev = (set(re.findall(_VERSION, lock, re.MULTILINE)) for lock in (_RUN, _DEV))
    names = {name for name, _ in run}
    assert {(name, version) for name, version in dev if name in names} <= run


@pytest.mark.parametrize("lock", [_RUN, _DEV], ids=["run", "dev"])
def test_every_locked_version_has_hashes(lock: str) -> None:
    """The set-up checks them: what is installed is what was locked."""
    pins = re.findall(r"^[\w.-]+==.*?(?=^\S|\Z)", lock, re.MULTILINE | re.DOTALL)
    assert [pin.splitlines()[0] for pin in pins if "--hash=sha256:" not in pin] == []


@pytest.mark.parametrize("lock", [_RUN, _DEV], ids=["run", "dev"])
def test_the_lock_names_no_machine_and_no_registry(lock: str) -> None:
    """Neither a folder nor an index of whoever made it stands in the file."""
    assert re.findall(r"https?://\S+|--(?:extra-)?index-url.*|--find-links.*|(?<=\s)/\S+", lock) == []
