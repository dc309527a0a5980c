"""Addresses: mobile ones, and those of a single router or edge; their keys and distributions. Pure."""

from __future__ import annotations

from dataclasses import dataclass

MULTICAST, CLOSEST, BALANCED = "multicast", "closest", "balanced"

# The prefixes that the configurations of all captured routers have.
DISTRIBUTIONS = (("multicast", MULTICAST), ("closest", CLOSEST))


@dataclass(frozen=True)
class Address:
    """An address as read: its key in the address table, and the router or edge that it belongs to."""

    key: str
    router: str | None = None
    edge: str | None = None

    @property
    def mobile(self) -> bool:
        return self.key.startswith("M")


def parse(text: str) -> Address:
    """Read an address as routers do; the key of a mobile one gets phase 0."""
    path = text.removeprefix("amqp:").lstrip("/")
    parts = path.split("/", 3)
    if parts[0] == "_topo" and len(parts) == 4:  # noqa: PLR2004 -- _topo/area/router/name
        return Address("L" + parts[3], router=parts[2])
    if parts[0] == "_edge" and len(parts) > 2:  # noqa: PLR2004 -- _edge/router/name
        return Address("L" + path.split("/", 2)[2], edge=parts[1])
    if parts[0] == "_local":
        return Address("L" + path.partition("/")[2])
    return Address("M0" + path)


def phased(key: str, phase: int) -> str:
    """Return the key with another phase: 0 is before a waypoint's queue, 1 behind it."""
    return f"M{phase}{key[2:]}" if key.startswith("M") else key


def plain(key: str) -> str:
    """Return the name in a key, without type and phase."""
    return key[2:] if key.startswith("M") else key[1:]


def matches(prefix: str, name: str) -> bool:
    """Whether `name` lies under `prefix`; tokens are separated by `/` and `.`, `*` is every address."""
    return prefix in ("*", name) or (name.startswith(prefix) and name[len(prefix)] in "/.")


def distribution(key: str) -> str:
    name = plain(key)
    if key.startswith("R") or name.startswith("$"):
        return CLOSEST
    return next((kind for prefix, kind in DISTRIBUTIONS if matches(prefix, name)), BALANCED)
