"""Reads the command line's texts into Settings; raises Problem with one line for a mistake."""

from __future__ import annotations

from typing import Any

from deploy.errors import Problem
from deploy.standin.flavours import FLAVOURS
from deploy.standin.settings import AutoLink, Connector, LinkRoute, Listener, Settings

_LISTEN_KEYS = {
    "role": "role",
    "strip": "strip_annotations",
    "cert": "cert",
    "key": "key",
    "users": "users",
}
_CHOICES = {
    ("--listen", "role"): ("normal", "inter-router", "edge"),
    ("--listen", "strip"): ("both", "no", "in", "out"),
    ("--connect", "role"): ("inter-router", "edge", "route-container"),
}
_CONNECT_KEYS = {"role": "role", "cost": "cost", "name": "name"}
_BROKER_KEYS = {"name": "name", "user": "user", "password-file": "password_file"}


def read(given: dict[str, Any]) -> Settings:
    """Return the settings from click's parameters of the command."""
    auto_links = tuple(
        AutoLink(*found) for text in given.get("auto_link", ()) for found in _to_broker("--auto-link", text)
    )
    link_routes = tuple(
        LinkRoute(*found)
        for text in given.get("link_route", ())
        for found in _to_broker("--link-route", text)
    )
    flavour = given.get("flavour", "dispatch")
    if link_routes and not FLAVOURS[flavour].link_routes:
        raise Problem(
            f"--link-route: routers of the flavour {flavour} have none, and do not start with one;"
            " use --auto-link"
        )
    waypoints = {*given.get("waypoint", ()), *(link.address for link in auto_links)}
    return Settings(
        name=given["name"],
        listeners=tuple(_listener(text) for text in given["listen"]),
        connectors=tuple(_connector(text) for text in given.get("connect", ())),
        auto_links=auto_links,
        link_routes=link_routes,
        waypoints=tuple(sorted(waypoints)),
        flavour=flavour,
        mode=given.get("mode", "interior"),
        control=given.get("control"),
    )


def _listener(text: str) -> Listener:
    host, port, more = _parts("--listen", text, _LISTEN_KEYS)
    if ("cert" in more) != ("key" in more):
        raise Problem(f"--listen {text}: cert and key go together")
    return Listener(host, port, **more)


def _connector(text: str) -> Connector:
    host, port, more = _parts("--connect", text, _CONNECT_KEYS)
    if "cost" in more:
        if not str(more["cost"]).isdigit() or int(more["cost"]) < 1:
            raise Problem(f"--connect {text}: cost is a whole number from 1, not {more['cost']!r}")
        more["cost"] = int(more["cost"])
    return Connector(host, port, **more)


def _to_broker(option: str, text: str) -> list[tuple[str, str, Connector]]:
    """Return (address, direction, connector) for each direction that is asked for."""
    address, found, rest = text.partition("=")
    if not found or not address:
        raise Problem(f"{option} {text}: write ADDRESS=HOST:PORT, for example orders=127.0.0.1:61616")
    place, comma, options = rest.partition(",")
    directions = ["in", "out"]
    for direction in ("in", "out"):
        if place.endswith(":" + direction):
            place, directions = place.removesuffix(":" + direction), [direction]
    host, port, more = _parts(option, place + comma + options, _BROKER_KEYS)
    connector = Connector(host, port, role="route-container", **{"name": "broker", **more})
    return [(address, direction, connector) for direction in directions]


def _parts(option: str, text: str, keys: dict[str, str]) -> tuple[str, int, dict[str, Any]]:
    place, *pairs = text.split(",")
    host, _, port = place.rpartition(":")
    if not host or not port.isdigit():
        raise Problem(f"{option} {text}: {place!r} is not HOST:PORT")
    more: dict[str, Any] = {}
    for pair in pairs:
        key, found, value = pair.partition("=")
        if not found or key not in keys:
            raise Problem(f"{option} {text}: {pair!r} is none of {', '.join(f'{k}=…' for k in keys)}")
        allowed = _CHOICES.get((option, key))
        if allowed and value not in allowed:
            raise Problem(f"{option} {text}: {key} is one of {', '.join(allowed)}, not {value!r}")
        more[keys[key]] = value
    return host.strip("[]"), int(port), more
