"""SASL PLAIN on a listener: users and passwords, checked by the stand-in itself.

Cyrus SASL asks a daemon at a unix socket whether a password is right. Here that daemon is a thread, which
reads `user:password` lines from a file, so that no database and no tool to make one is needed.
"""

from __future__ import annotations

import hmac
import logging
import shutil
import socket
import struct
import tempfile
from pathlib import Path
from typing import Any

from collectors.process.worker import Worker
from deploy.errors import Problem

_log = logging.getLogger("inflight.standin")
_NAME = "inflight-standin"
_CONFIG = """\
pwcheck_method: saslauthd
saslauthd_path: {socket}
mech_list: PLAIN
"""


def read_users(path: str) -> dict[str, str]:
    """Return the passwords by user of a file of `user:password` lines; raises Problem if it is none."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise Problem(f"users={path} cannot be read: {error}; it has lines of user:password") from error
    pairs = [line.partition(":") for line in lines if line.strip()]
    if not pairs or any(not found for _, found, _ in pairs):
        raise Problem(f"users={path}: each line is user:password")
    return {user: password for user, _, password in pairs}


class PasswordServer:
    """A thread that answers Cyrus SASL in the place of saslauthd, for one listener."""

    def __init__(self, users: dict[str, str]) -> None:
        self._users = users
        self._directory = Path(tempfile.mkdtemp(prefix="standin-sasl-"))
        place = self._directory / "mux"
        (self._directory / f"{_NAME}.conf").write_text(_CONFIG.format(socket=place), encoding="utf-8")
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(place))
        self._server.listen()
        self._closing = False
        Worker("login", self._serve).start()

    def require(self, transport: Any) -> None:
        """Refuse connections over this transport without a known user and password."""
        sasl = transport.sasl()
        sasl.config_name(_NAME)
        sasl.config_path(str(self._directory))
        sasl.allow_insecure_mechs = True
        sasl.allowed_mechs("PLAIN")
        transport.require_auth(True)

    def close(self) -> None:
        self._closing = True
        self._server.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _serve(self) -> None:
        while True:
            try:
                sock = self._server.accept()[0]
            except OSError:
                if self._closing:
                    return
                raise
            with sock, sock.makefile("rb") as stream:
                sock.settimeout(5)
                try:
                    user, password, _service, _realm = (_counted(stream) for _ in range(4))
                    known = self._users.get(user)
                    right = known is not None and hmac.compare_digest(known.encode(), password.encode())
                    answer = b"OK" if right else b"NO"
                    sock.sendall(struct.pack(">H", len(answer)) + answer)
                except (OSError, ValueError, struct.error) as error:
                    _log.warning("a login could not be checked: %s", type(error).__name__)


def _counted(stream: Any) -> str:
    """Read a string with its length in front, as clients of saslauthd write it."""
    (size,) = struct.unpack(">H", stream.read(2))
    text: bytes = stream.read(size)
    return text.decode()
