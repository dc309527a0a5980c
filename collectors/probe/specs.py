"""Which ends a process runs: all senders and receivers of each path, or some of them by number."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from collectors.config.paths import Path


@dataclass(frozen=True, slots=True)
class SenderSpec:
    """One sender; it has several paths if it sends to a multicast address."""

    paths: tuple[Path, ...]
    name: str
    number: int


@dataclass(frozen=True, slots=True)
class ReceiverSpec:
    path: Path
    name: str


def sender_specs(paths: Sequence[Path], numbers: Collection[int] | None = None) -> list[SenderSpec]:
    """Returns the senders; paths of one multicast flow share theirs."""
    flows: dict[str, list[Path]] = {}
    for path in paths:
        flows.setdefault(path.flow, []).append(path)
    return [
        SenderSpec(tuple(group), f"{group[0].source}-{number}", number)
        for group in flows.values()
        for number in range(group[0].senders)
        if numbers is None or number in numbers
    ]


def receiver_specs(paths: Sequence[Path], numbers: Collection[int] | None = None) -> list[ReceiverSpec]:
    return [
        ReceiverSpec(path, f"{path.target}-{number}")
        for path in paths
        for number in range(path.receivers)
        if numbers is None or number in numbers
    ]
