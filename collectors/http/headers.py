"""What clients say in a request's headers: under which name they ask, and in which coding they want it."""

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
    """The names of a server: others may be pointed at it by anybody, so that a browser reads it for them.

    Addresses are always known: a page that was loaded from one came from here.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names: Final = {"localhost", *(_plain(name) for name in (socket.gethostname(), *names))}
        self._lock: Final = threading.Lock()
        self._full: str | None = None

    def knows(self, host: str) -> bool:
        """Whether this is one of them; `host` may have a port. May ask the resolver, once."""
        name = _plain(host)
        if _is_address(name) or name in self._names or name.endswith(".localhost"):
            return True
        with self._lock:
            if self._full is None:
                self._full = _plain(socket.getfqdn())
        return name == self._full


def _plain(host: str) -> str:
    """Without a port, and as names are compared; what is no host with a port stays what it is."""
    found = _HOST.fullmatch(host)
    return (found["v6"] or found["name"]).lower().rstrip(".") if found else host


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def codings(headers: Mapping[str, str]) -> tuple[Coding, ...]:
    """In which codings the client takes a body, the one that it likes best first."""
    said = headers.get("accept-encoding")
    if said is None:
        return ("identity",)
    weights = dict(map(_weighted, said.lower().split(",")))
    others = weights.get("*")
    gzip = weights.get("gzip", weights.get("x-gzip", others or 0.0))
    # Not named it is taken all the same, if nothing else is to be had.
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
