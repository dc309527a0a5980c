"""All that is looked at to explain one episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from streaming.attribution.network import Network
from streaming.attribution.places import Place
from streaming.attribution.routes import Route
from streaming.attribution.span import Span

SENDER: Final = "sender"
RECEIVER: Final = "receiver"


@dataclass(slots=True)
class Scene:
    """All that is looked at to explain one episode."""

    network: Network
    place: Place
    route: Route
    span: Span
    refused: dict[str, int]  # the episode's, by outcome
    lost: dict[str, int]
    branch: frozenset[str] = (
        frozenset()
    )  # of a multicast flow: routers whose end links are of this path alone
