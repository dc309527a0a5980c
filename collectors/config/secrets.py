"""Passwords come from files, and go nowhere but into the connection."""

from __future__ import annotations

from pathlib import Path


class SecretError(Exception):
    """A file of secrets cannot be used; the text names the file and never what is in it."""


def read_password(file: Path) -> str:
    """The file's one line, as it is but for the line's end.

    Everybody who logs in asks here. A second line is refused: it could be of an old password or of a new one.
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
