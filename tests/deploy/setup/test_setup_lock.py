"""requirements.lock says the same as pyproject.toml, and nothing of the machine it was made on."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_PROJECT = Path(__file__).resolve().parents[3]
_LOCK = (_PROJECT / "requirements.lock").read_text()
_META = tomllib.loads((_PROJECT / "pyproject.toml").read_text())["project"]
_ASKED = [*_META["dependencies"], *_META["optional-dependencies"]["dev"]]


@pytest.mark.parametrize("asked", _ASKED)
def test_what_is_asked_for_is_locked(asked: str) -> None:
    """A range that was changed without `make lock` is told here, before somebody's set-up differs."""
    requirement = Requirement(asked)
    versions = dict(re.findall(r"^([\w.-]+)==(\S+)", _LOCK, re.MULTILINE))
    assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), "run `make lock`"


def test_every_locked_version_has_hashes() -> None:
    """The set-up checks them: what is installed is what was locked."""
    pins = re.findall(r"^[\w.-]+==.*?(?=^\S|\Z)", _LOCK, re.MULTILINE | re.DOTALL)
    assert [pin.splitlines()[0] for pin in pins if "--hash=sha256:" not in pin] == []


def test_the_lock_names_no_machine_and_no_registry() -> None:
    """Neither a folder nor an index of whoever made it stands in the file."""
    assert re.findall(r"https?://\S+|--(?:extra-)?index-url.*|--find-links.*|(?<=\s)/\S+", _LOCK) == []
