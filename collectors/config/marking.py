"""Which paths may be marked, and for how long a colour has to be sent: see streaming/marking.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from collectors.config import paths
from collectors.config.mistakes import Mistake
from collectors.config.yaml_lines import Place

if TYPE_CHECKING:
    from collectors.config.model import Config

CLOCK_BOUND_NS: Final = 1_000_000_000  # hosts whose clocks differ by more are compared in nothing
POLLS: Final = 3  # in a block: one may be lost, and two have to agree that its counters stand still
# As long as a poll may take: what collectors/polling/schedule.py allows it.
POLL_SHARE_PERCENT: Final = 80
POLL_MOST_NS: Final = 30_000_000_000


def mistakes(config: Config, name: str) -> Iterator[Mistake]:
    """Yields why a path cannot be marked as it is; nothing of one that is not marked."""
    marking_ns = int(paths.setting(config, name, "marking"))
    if not marking_ns:
        return
    path = config.paths[name]
    here: Place = ("paths", name)
    window_ns = int(paths.setting(config, name, "window"))
    if marking_ns % window_ns:
        reason = f"is not a multiple of `window`, {window_ns / 1e9:g}s: a window has one colour"
        yield (*here, "marking"), reason
    if marking_ns < (least_ns := least_marking_ns(config, name)):
        reason = f"is {marking_ns / 1e9:g}s, and needs {least_ns / 1e9:g}s or more"
        of = f"{POLLS} intervals between polls on the way, a poll's time, and twice the bound of clocks"
        yield (*here, "marking"), f"{reason}: {of}"
    if len(path.to) > 1:
        yield (*here, "marking"), "of a multicast: routers count its copies, so that no hop's sum is exact"
    for key in ("receive_address", "selector", "subscription"):
        if getattr(path, key) is not None:
            yield (
                (*here, key),
                f"on a marked path each end has two addresses, {_both(path.address)}: leave it out",
            )
    for other, its in config.paths.items():
        if other != name and (taken := _sent_to(config, name) & _sent_to(config, other)):
            what = f"its colour {min(taken)} is also an address of {other}: its counters would be of both"
            yield (*here, "address"), what
        elif other != name and its.receive_address in _sent_to(config, name):
            what = f"its colour {its.receive_address} is also received by {other}"
            yield (*here, "address"), what


def least_marking_ns(config: Config, name: str) -> int:
    """Returns how long a colour of the path has to be sent at least."""
    path = config.paths[name]
    ends = [config.endpoints[end].mesh for end in (path.source, *path.to) if end in config.endpoints]
    intervals = [config.meshes[mesh].interval for mesh in ends if mesh in config.meshes]
    if path.via in config.brokers:
        intervals.append(config.brokers[path.via].interval)
    longest_ns = max(intervals, default=0)
    poll_ns = min(longest_ns * POLL_SHARE_PERCENT // 100, POLL_MOST_NS)
    return POLLS * longest_ns + poll_ns + 2 * CLOCK_BOUND_NS


def _sent_to(config: Config, name: str) -> set[str]:
    address = config.paths[name].address
    return set(paths.marked_addresses(address)) if paths.setting(config, name, "marking") else {address}


def _both(address: str) -> str:
    return " and ".join(paths.marked_addresses(address))
