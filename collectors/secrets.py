"""Passwords come from files, and go nowhere but into the connection."""

from __future__ import annotations

from pathlib import Path


class SecretError(Exception):
    """A file of secrets cannot be used; the text names the file and never what is in it."""


def read_password(file: Path) -> str:
    """The file's first line."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise SecretError(f"password file {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SecretError(f"password file {file} is not UTF-8 text") from None
    if not lines or not lines[0]:
        raise SecretError(f"password file {file} is empty; its first line is the password")
    return lines[0]
