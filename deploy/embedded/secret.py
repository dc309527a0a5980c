"""Passwords of the parts: made anew for each stack, kept in files that only their owner can read."""

from __future__ import annotations

import secrets
from pathlib import Path


def new_password(path: Path) -> str:
    """A random password, also written to `path`."""
    password = secrets.token_urlsafe(18)
    write(path, password + "\n")
    return password


def write(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.chmod(0o600)  # an earlier file keeps its mode over touch
    path.write_text(text)
