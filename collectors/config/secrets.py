"""Reads passwords from their files."""

from __future__ import annotations

from pathlib import Path


class SecretError(Exception):
    """A password file cannot be used; the text names the file and never its content."""


def read_password(file: Path) -> str:
    """Returns the file's only line without its end; raises SecretError.

    A second line is refused: either could be an old password or a new one.
    """
    try:
        text = file.read_bytes().decode()
    except OSError as error:
        raise SecretError(f"password file {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SecretError(f"password file {file} is not UTF-8 text") from None
    password = text.rstrip("\r\n")
    if not password:
        raise SecretError(f"password file {file} is empty; its one line is the password")
    if "\n" in password or "\r" in password:
        raise SecretError(f"password file {file} has more than one line; the password is one, and all of it")
    return password
