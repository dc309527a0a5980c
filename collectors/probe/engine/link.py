"""What a connection expects of the links that are on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collectors.probe.engine.connection import AmqpConnection


class EngineLink(Protocol):
    """A link; proton's part of it is made anew whenever the connection is."""

    connection: AmqpConnection  # may change: see splitting.py
    measures: bool  # whether it is an end of a path, which can be moved to another connection

    @property
    def before_write(self) -> Callable[[], None]:
        """Is called before anything that happened in this round goes out to the peer."""

    def attach(self, session: Any) -> Any:
        """Makes proton's link in this session, and does not open it yet."""

    def on_open(self, link: Any) -> None:
        """The peer answered; `link` is cproton's pointer."""

    def on_flow(self) -> None: ...

    def on_delivery(self, delivery: Any) -> None:
        """Something happened to a delivery, of which this is cproton's pointer."""

    def on_lost(self, reason: str) -> None:
        """The link is gone, with all that was not settled on it. Called once for each attach."""

    def forget(self) -> None:
        """Proton's link is being freed because it was closed from here: it must not be used any more."""
