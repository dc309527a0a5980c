"""The two makes of router that a stand-in can speak like, and what differs between them beside the schema."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Flavour:
    product: str
    version: str  # whose schema it is, and that this is a stand-in
    entity_prefix: str
    # The keys of mobile addresses tell the phase: M0orders, not Morders.
    phase_in_keys: bool
    # A message's route stands in a section of its own in front, not among the message annotations.
    route_section: bool
    # The router's counters are attributes of `router`, which is also named by its id; not of `routerMetrics`.
    counters_on_router: bool
    link_routes: bool


FLAVOURS = {
    "dispatch": Flavour(
        product="qpid-dispatch-router",
        version="1.19.0-stand-in",
        entity_prefix="org.apache.qpid.dispatch.",
        phase_in_keys=True,
        route_section=False,
        counters_on_router=True,
        link_routes=True,
    ),
    "skupper": Flavour(
        product="skupper-router",
        version="main-stand-in",
        entity_prefix="io.skupper.router.",
        phase_in_keys=False,
        route_section=True,
        counters_on_router=False,
        link_routes=False,
    ),
}
