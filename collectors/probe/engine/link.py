"""What a connection expects of the links that live on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collectors.probe.engine.connection import Connection


class Link(Protocol):
    """A link of a connection; it is made anew whenever the connection is."""

    connection: Connection  # which it is on: it is put on another one when too many fail together
    measures: bool  # and may be what the connection fails of; otherwise it stays where it is

    def attach(self, session: Any) -> Any:
        """Make the engine's link in this session, not opened yet."""

    def on_open(self, link: Any) -> None: ...

    def on_flow(self) -> None: ...

    def on_delivery(self, delivery: Any) -> None:
        """`delivery` and what belongs to it are the engine's own objects."""

    def on_lost(self, reason: str) -> None:
        """The link is gone, with all that was not settled on it. Called once for each attach."""

    def forget(self) -> None:
        """The engine's link is being freed at its owner's wish: it must not be touched any more."""

    def journal(self) -> None:
        """Called before anything that happened in this round goes out to the peer."""
