"""Readable names of router addresses: `M0orders` is the mobile address orders; `L$management` is internal."""

from __future__ import annotations

from typing import Final

from collectors.router.schema import FlavourName

INTERNAL: Final = "_internal"
OTHER: Final = "_other"
NONE: Final = ""

# The first letter of a key says the address's class.
_CLASSES: Final = {
    "L": "local",
    "T": "all routers",
    "R": "router",
    "H": "edge router",
    "C": "link route in",
    "D": "link route out",
    "E": "link route pattern in",
    "F": "link route pattern out",
}
# Mobile addresses that the routers themselves use.
_OWN: Final = ("$", "_$", "mc/sfe.", "sfe.", "vfcr.", "_local/", "_topo/")
_PHASED: Final = {"dispatch": True, "skupper": False}  # whether a digit stands after the M


def phase(key: str, flavour: FlavourName) -> str:
    """Return the digit by which a router tells apart what goes to a waypoint and what comes from it."""
    return key[1:2] if _PHASED[flavour] and key[:1] == "M" and key[1:2].isdigit() else ""


def mobile(key: str | None, flavour: FlavourName) -> str | None:
    """Return the name by which applications know the address; None if it is internal."""
    if not key or key[0] != "M":
        return None
    name = key[2:] if _PHASED[flavour] and key[1:2].isdigit() else key[1:]
    return None if name.startswith(_OWN) or not name else name


def readable(key: str, flavour: FlavourName) -> str:
    """Return the name for people, with its class in brackets unless it is an application's address."""
    name = mobile(key, flavour)
    if name is not None:
        return name
    if key[:1] == "M":
        return f"{key[2:] if _PHASED[flavour] and key[1:2].isdigit() else key[1:]} (router's own)"
    kind = _CLASSES.get(key[:1])
    return f"{key[1:]} ({kind})" if kind else key


def key(name: str, flavour: FlavourName) -> str:
    """Return the key of a mobile address: of its first phase, where the key tells the phase."""
    return f"M0{name}" if _PHASED[flavour] else f"M{name}"
