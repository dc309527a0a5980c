"""Passwords of the programs, in files that only their owner can read."""

from __future__ import annotations

import secrets
from pathlib import Path

from collectors.config.secrets import read_password


def password(path: Path) -> str:
    """Return the password in the file; if there is no file, write a random one."""
    if not path.exists():
        write_private(path, secrets.token_urlsafe(18) + "\n")
    return read_password(path)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    path.touch(mode=0o600)
    path.chmod(0o600)  # an earlier file keeps its mode over touch
    path.write_text(text)
