"""Request headers: by which host name a client asks, and which content codings it accepts."""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
from collections.abc import Iterable, Mapping
from typing import Final, Literal

Coding = Literal["gzip", "identity"]
_HOST: Final = re.compile(r"(?:\[(?P<v6>[^]]+)\]|(?P<name>[^:]+))(?::[0-9]*)?")


class Hosts:
    """The names of a server. A foreign page can point any other name at it, and make a browser read it so.

    Addresses are always known: a page that was loaded from one came from this server.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names: Final = {"localhost", *(_plain(name) for name in (socket.gethostname(), *names))}
        self._lock: Final = threading.Lock()
        self._full: str | None = None

    def knows(self, host: str) -> bool:
        """Whether this is a name of the server; `host` may have a port. Asks the resolver, once at most."""
        name = _plain(host)
        if _is_address(name) or name in self._names or name.endswith(".localhost"):
            return True
        with self._lock:
            if self._full is None:
                self._full = _plain(socket.getfqdn())
        return name == self._full


def _plain(host: str) -> str:
    """Returns the host in lower case, without port and final dot; another text is returned as it is."""
    found = _HOST.fullmatch(host)
    return (found["v6"] or found["name"]).lower().rstrip(".") if found else host


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def codings(headers: Mapping[str, str]) -> tuple[Coding, ...]:
    """Returns the codings in which the client accepts a body, the preferred one first."""
    said = headers.get("accept-encoding")
    if said is None:
        return ("identity",)
    weights = dict(map(_weighted, said.lower().split(",")))
    others = weights.get("*")
    gzip = weights.get("gzip", weights.get("x-gzip", others or 0.0))
    # Where it is not named it is accepted as well, after the others.
    identity = weights.get("identity", 1e-9 if others is None else others)
    liked: list[tuple[float, Coding]] = [(gzip, "gzip"), (identity, "identity")]
    return tuple(coding for weight, coding in sorted(liked, key=lambda item: -item[0]) if weight > 0)


def _weighted(item: str) -> tuple[str, float]:
    coding, *parameters = (part.strip() for part in item.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                weight = float(value)
            except ValueError:
                weight = 0.0
            return coding, weight if 0 <= weight <= 1 else 0.0
    return coding, 1.0
