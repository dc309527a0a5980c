"""A lab's devices, routes and faults as text for `ip -batch`, `tc -batch` and `nft -f`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from deploy.lab.namespaces.faults import Traffic, Wait
from deploy.lab.namespaces.layout import HOST_DEVICE, Layout, Wire

# The route of a detour is gone with its device, whatever ended that; the other one is there always.
_ROUTE_METRIC: Final = 100
_DETOUR_METRIC: Final = 10

_PACKET_BYTES: Final = 1514
_WAITING_PACKETS_MAX: Final = 10_000
_MILLION: Final = 1_000_000
# With a rate, netem lets no packet pass by one that has to wait longer; this one holds up none.
_KEEPS_ORDER: Final = "rate 100gbit"


def make_devices(layout: Layout, namespace: Callable[[str], str]) -> str:
    """`ip`, here: all veth pairs, each end made where it belongs."""
    lines = [
        f"link add {place.host_device} type veth peer name {HOST_DEVICE} netns {namespace(part)}"
        for part, place in layout.places.items()
    ]
    lines += [
        f"link add {wire.device} netns {namespace(wire.ends[0])} type veth"
        f" peer name {wire.device} netns {namespace(wire.ends[1])}"
        for wire in layout.wires.values()
    ]
    return _lines(lines)


def join_part(layout: Layout, part: str) -> str:
    """`ip`, in the namespace of the part: its address, and a route to each neighbour and this host."""
    place = layout.places[part]
    lines = [
        "link set lo up",
        f"address add {place.address}/32 dev lo",
        f"link set {HOST_DEVICE} up",
        f"route add {layout.block.host} dev {HOST_DEVICE} src {place.address}",
    ]
    for wire in layout.at(part):
        lines += [f"link set {wire.device} up", _route(layout, part, wire, wire.device, _ROUTE_METRIC)]
    return _lines(lines)


def join_host(layout: Layout) -> str:
    """`ip`, here: a route to each part."""
    lines = []
    for place in layout.places.values():
        lines += [
            f"address add {layout.block.host} peer {place.address} dev {place.host_device}",
            f"link set {place.host_device} up",
        ]
    return _lines(lines)


def leave_host(layout: Layout) -> str:
    """`ip`, here: with a device its pair and its route go."""
    return _lines(f"link delete {place.host_device}" for place in layout.places.values())


def take_detour(layout: Layout, part: str, wire: Wire, device: str) -> str:
    """`ip`, in the namespace of the part: what it sends over the link goes by way of another device."""
    return _lines([f"link set {device} up", _route(layout, part, wire, device, _DETOUR_METRIC)])


def leave_detour(device: str) -> str:
    """`ip`, in the namespace of a part."""
    return f"route flush dev {device}\n"


def _route(layout: Layout, part: str, wire: Wire, device: str, metric: int) -> str:
    to, source = layout.places[wire.other(part)].address, layout.places[part].address
    return f"route replace {to} dev {device} src {source} metric {metric}"


def shape(traffic: Traffic, device: str, *, netem: bool) -> str:
    """`tc`, in the namespace of the sender: what holds up its packets at a device."""
    lines = [f"qdisc replace dev {device} root noqueue"]
    parent = "root"
    if netem and traffic.wait.delay_ns:
        lines.append(f"qdisc replace dev {device} root handle 1: netem {_netem(traffic.wait)}")
        parent = "parent 1:1"
    if traffic.bytes_per_second is not None:
        lines.append(f"qdisc replace dev {device} {parent} handle 10: tbf {_tbf(traffic.bytes_per_second)}")
    return _lines(lines)


def _netem(wait: Wait) -> str:
    told = [f"limit {_WAITING_PACKETS_MAX} delay {wait.delay_ns // 1000}us"]
    if wait.jitter_ns:
        told.append(f"{wait.jitter_ns // 1000}us")
    if wait.overtaking_percent:
        told.append(f"reorder {wait.overtaking_percent:g}%")
    return " ".join([*told, _KEEPS_ORDER])


def _tbf(bytes_per_second: float) -> str:
    """A bucket of 20 ms, and a queue of 100 ms, but of a few packets at least."""
    bucket = max(round(bytes_per_second / 50), 2 * _PACKET_BYTES)
    queue = bucket + max(round(bytes_per_second / 10), 10 * _PACKET_BYTES)
    return f"rate {round(bytes_per_second * 8)}bit burst {bucket} limit {queue}"


def ruleset(traffics: Mapping[str, Mapping[str, Traffic]], wires: Iterable[Wire], part: str) -> str:
    """`nft`, in the namespace of the part: what is refused and dropped, all anew and at one moment.

    `traffics` are by link and sender. A packet is refused where it is sent, so that the sender is told, and
    dropped where it arrives, so that nobody is.
    """
    refused: list[str] = []
    dropped: list[str] = []
    for wire in wires:
        devices = ", ".join(f'"{name}"' for name in wire.devices)
        sent, got = traffics[wire.id][part], traffics[wire.id][wire.other(part)]
        if sent.cut:
            refused += [
                f"oifname {{ {devices} }} meta l4proto tcp reject with tcp reset",
                f"oifname {{ {devices} }} reject with icmp type host-unreachable",
            ]
        dropped += [f"iifname {{ {devices} }} {rule}" for rule in _dropped(got)]
    return f"""\
add table inet lab
delete table inet lab
table inet lab {{
    chain refused {{
        type filter hook output priority 0
{_indented(refused)}
    }}
    chain dropped {{
        type filter hook input priority 0
{_indented(dropped)}
    }}
}}
"""


def _dropped(traffic: Traffic) -> Iterator[str]:
    share = round(traffic.loss_percent / 100 * _MILLION)
    if traffic.stall or share == _MILLION:
        yield "drop"
    elif share:
        yield f"numgen random mod {_MILLION} < {share} drop"


def _indented(rules: Iterable[str]) -> str:
    return "\n".join(f"        {rule}" for rule in rules)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
