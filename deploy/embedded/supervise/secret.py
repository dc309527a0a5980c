"""Passwords of the parts: made anew for each stack, kept in files that only their owner can read."""

from __future__ import annotations

import secrets
from pathlib import Path

from collectors.config.secrets import read_password


def password(path: Path) -> str:
    """The password in the file; a random one, written there, if there is no file yet."""
    if not path.exists():
        write(path, secrets.token_urlsafe(18) + "\n")
    return read_password(path)


def write(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.chmod(0o600)  # an earlier file keeps its mode over touch
    path.write_text(text)
