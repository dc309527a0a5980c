"""Which ends a process is to run: of each path all its senders and receivers, or some of them by number."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from collectors.config.paths import Path


@dataclass(frozen=True, slots=True)
class SenderSpec:
    """One sender; a multicast's has several paths."""

    paths: tuple[Path, ...]
    name: str
    number: int


@dataclass(frozen=True, slots=True)
class ReceiverSpec:
    """One receiver."""

    path: Path
    name: str


def sender_specs(paths: Sequence[Path], numbers: Collection[int] | None = None) -> list[SenderSpec]:
    """Paths of one multicast flow are sent once. Senders of a path share its rate, wherever they run."""
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
