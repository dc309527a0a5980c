"""What the config says of paths that neither their rows nor the collectors tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from collectors.config import paths
from collectors.contract.untrusted_text import matches

if TYPE_CHECKING:  # Spark's workers have no pydantic
    from collectors.config.model import Config


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path lies. It is plain data, which goes to a cluster as JSON."""

    group: str  # of meshes that paths connect: what is of one group is looked at together
    meshes: tuple[str, ...]  # of its sender, and of its receivers where that is another one
    address: str
    receive_address: str
    via: str | None = None  # the broker
    multicast: bool = False
    presettled: bool = False
    warmup: bool = False  # senders begin with messages that no ledger has, and routers count
    window_ns: int = 5_000_000_000
    settle_ns: int = 10_000_000_000
    interval_ns: int = 10_000_000_000  # between polls, the longest on the way
    marking_ns: int = 0  # how long a colour is sent; 0: the path is not marked
    slow_ns: int = 0  # the least bound of its objectives; 0: it has none

    @property
    def sent_to(self) -> tuple[str, ...]:
        """The addresses to which its messages go, by colour."""
        return paths.marked_addresses(self.address) if self.marking_ns else (self.address,)


def of_config(config: Config) -> dict[str, Place]:
    """Returns the place of each configured path, by name."""
    resolved = paths.resolve(config)
    mesh_of = {name: endpoint.mesh for name, endpoint in config.endpoints.items()}
    groups = _Groups()
    for path in resolved.values():
        groups.join(mesh_of[path.source], mesh_of[path.target])
        if path.via is not None:
            groups.join(mesh_of[path.source], config.brokers[path.via].mesh)
    found = {}
    for name, path in resolved.items():
        meshes = tuple(dict.fromkeys((mesh_of[path.source], mesh_of[path.target])))
        intervals = [config.meshes[mesh].interval for mesh in meshes if mesh in config.meshes]
        if path.via is not None:
            intervals.append(config.brokers[path.via].interval)
        found[name] = Place(
            group=groups.of(path.mesh),
            meshes=meshes,
            address=path.address,
            receive_address=path.receive_address,
            via=path.via,
            multicast=path.multicast,
            presettled=path.presettled,
            warmup=path.warmup_ns is not None,
            window_ns=path.rules.window_ns,
            settle_ns=path.rules.settle_ns,
            interval_ns=max(intervals, default=0),
            marking_ns=path.marking_ns,
            slow_ns=min(_latency_bounds(config, name, path.flow), default=0),
        )
    return found


def _latency_bounds(config: Config, *names: str) -> Iterator[int]:
    for slo in config.slos:
        if slo.latency is not None and any(matches(name, slo.paths) for name in names):
            yield slo.latency


def groups_of(places: Mapping[str, Place]) -> dict[str, str]:
    """Returns the group of each mesh that a path lies in; any other mesh is a group of its own name."""
    return {mesh: place.group for place in places.values() for mesh in place.meshes}


class _Groups:
    """Meshes that are connected, each group by the name of its first in alphabetical order."""

    def __init__(self) -> None:
        self._joined: dict[str, str] = {}

    def of(self, mesh: str) -> str:
        while (further := self._joined.get(mesh, mesh)) != mesh:
            mesh = further
        return mesh

    def join(self, one: str, other: str) -> None:
        first, last = sorted((self.of(one), self.of(other)))
        self._joined[last] = first
