"""Where the parts of a lab are: a block of addresses that this host has no other use for, devices, links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from itertools import chain, count
from typing import Final

from collectors.router.topology import pair
from deploy.errors import Problem

# The first is set aside for tests of networks, so that hardly a host uses it.
_RANGES: Final = tuple(IPv4Network(text) for text in ("198.18.0.0/15", "172.16.0.0/12", "10.0.0.0/8"))
_BLOCK_BITS: Final = 24
_WIDEST_BITS: Final = 8  # a wider route leads everywhere, as a default route does
_HOST_NUMBER: Final = 254
PARTS_MAX: Final = _HOST_NUMBER - 1
HOST_DEVICE: Final = "host"  # in a part's namespace, what leads to this host


@dataclass(frozen=True)
class Block:
    """The addresses of a lab: .1 and following of its parts, .254 of this host for all of them."""

    number: int
    network: IPv4Network

    def address(self, number: int) -> str:
        return str(self.network[number])

    @property
    def host(self) -> str:
        return self.address(_HOST_NUMBER)


def free_blocks(routes: Iterable[str]) -> Iterator[Block]:
    """Yield the blocks that no route of this host leads into; `routes` as `ip route` writes them."""
    taken = [network for network in map(_network, routes) if network.prefixlen >= _WIDEST_BITS]
    subnets = chain.from_iterable(wide.subnets(new_prefix=_BLOCK_BITS) for wide in _RANGES)
    for number, network in zip(count(), subnets, strict=False):
        if not any(network.overlaps(other) for other in taken):
            yield Block(number, network)


def _network(destination: str) -> IPv4Network:
    return IPv4Network("0.0.0.0/0" if destination == "default" else destination, strict=False)


@dataclass(frozen=True)
class Place:
    """A part: its address, which is the same on all its links, and its veth on this host's side."""

    number: int
    address: str
    host_device: str


@dataclass(frozen=True)
class Wire:
    """A link, a veth pair of its own. Both ends have the same name, each in its part's namespace."""

    id: str
    ends: tuple[str, str]
    device: str
    # Of those two that stand in for it while packets have to wait: one takes over from the other.
    detours: tuple[str, str]

    @property
    def directions(self) -> tuple[str, str]:
        """That of what each end sends, in the order of the ends; as in the monitor's routes."""
        one, other = self.ends
        return f"{one}>{other}", f"{other}>{one}"

    @property
    def devices(self) -> tuple[str, ...]:
        return self.device, *self.detours

    def other(self, end: str) -> str:
        return self.ends[1] if end == self.ends[0] else self.ends[0]


@dataclass(frozen=True)
class Layout:
    block: Block
    places: dict[str, Place]
    wires: dict[str, Wire]

    def at(self, part: str) -> list[Wire]:
        return [wire for wire in self.wires.values() if part in wire.ends]


def places(block: Block, parts: Sequence[str]) -> dict[str, Place]:
    if len(parts) > PARTS_MAX:
        raise Problem(f"{len(parts)} parts are too many for namespaces: at most {PARTS_MAX}; use relays")
    return {
        part: Place(number, block.address(number), f"lab{block.number}-{number}")
        for number, part in enumerate(parts, 1)
    }


def wires(links: Iterable[tuple[str, str]]) -> dict[str, Wire]:
    """The links by name, whoever dials, and however many connections there are."""
    ids = dict.fromkeys(pair(one, other) for one, other in links)
    return {
        ends.id: Wire(ends.id, (ends[0], ends[1]), f"link{n}", (f"wait{n}a", f"wait{n}b"))
        for n, ends in enumerate(ids)
    }
