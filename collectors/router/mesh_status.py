"""A mesh after a poll, for metrics, records and `inflight status`."""

from __future__ import annotations

from dataclasses import dataclass, field

from collectors.router.counters import CountedRouter
from collectors.router.mesh_urls import CutOff
from collectors.router.snapshot import RouterSnapshot
from collectors.router.topology import Graph


@dataclass(slots=True)
class MeshStatus:
    """The routers that answer, why others do not, and the graph."""

    mesh: str
    at_ns: int
    interval_ns: int
    snapshots: dict[str, RouterSnapshot] = field(default_factory=dict)
    counted: dict[str, CountedRouter] = field(default_factory=dict)
    polled: set[str] = field(default_factory=set)  # those of `snapshots` that are of this very poll
    down: dict[str, str] = field(default_factory=dict)  # routers that nothing reaches, and why
    cut_off: dict[str, CutOff] = field(default_factory=dict)  # of those in `snapshots`
    urls: dict[str, str | None] = field(default_factory=dict)  # why nothing is seen through one
    graph: Graph = field(default_factory=Graph)
    asked_ns: int = 0  # when the poll that ended at `at_ns` began
    settled: bool = True  # each URL has been tried, and each router's rates are known
    failure: str | None = None  # why the mesh as a whole could not be polled
