"""The settings of a stand-in, as its command line gives them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Listener:
    host: str
    port: int
    role: str = "normal"
    strip_annotations: str = "both"
    cert: str | None = None
    key: str | None = None
    users: str | None = None  # a file of user:password lines


@dataclass(frozen=True)
class Connector:
    host: str
    port: int
    role: str = "inter-router"
    cost: int = 1
    name: str = ""
    user: str | None = None
    password_file: str | None = None


@dataclass(frozen=True)
class AutoLink:
    address: str
    direction: str  # "in": from the broker's queue; "out": into it
    connector: Connector


@dataclass(frozen=True)
class LinkRoute:
    prefix: str
    direction: str  # "in": for clients that send; "out": for those that receive
    connector: Connector

    @property
    def key(self) -> str:
        """As in the address table."""
        return ("C" if self.direction == "in" else "D") + self.prefix


@dataclass(frozen=True)
class Settings:
    name: str
    listeners: tuple[Listener, ...]
    connectors: tuple[Connector, ...] = ()
    auto_links: tuple[AutoLink, ...] = ()
    link_routes: tuple[LinkRoute, ...] = ()
    waypoints: tuple[str, ...] = ()
    flavour: str = "dispatch"
    mode: str = "interior"
    control: str | None = None

    @property
    def router_id(self) -> str:
        """The name, with a mark of what it is for whoever sees it."""
        return self.name if "stand-in" in self.name else f"{self.name}.stand-in"
