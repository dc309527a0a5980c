"""What the oracle keeps: ends and windows, as plain as they can be. See oracle.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from collectors.contract.records import Header


@dataclass
class OracleEnd:
    role: str
    name: str
    run: str
    born: int
    base: int
    frontiers: dict[int, int] = field(default_factory=dict)  # by record number
    gone_numbers: set[int] = field(default_factory=set)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    holes: list[tuple[int, int]] = field(default_factory=list)  # since when, and the first record after it
    detached: list[tuple[int, int]] = field(default_factory=list)
    bye: int | None = None
    clock: dict[str, tuple[int, int]] = field(default_factory=dict)
    late_by: int = 0
    early_by: int = 0
    reach: int = 0  # no record of it told of a later time
    heard: int = -(10**30)  # by the path's append time: the last record that was not behind the horizon

    @property
    def start(self) -> int:
        return self.born - self.early_by

    def contiguous(self) -> tuple[int, int]:
        """The first number missing, and the frontier before it."""
        number, frontier = self.base, -(10**30)
        while number in self.frontiers or number in self.gone_numbers:
            frontier = max(frontier, self.frontiers.get(number, frontier))
            number += 1
        return number, frontier

    @property
    def frontier(self) -> int:
        return self.contiguous()[1]

    @property
    def said_bye(self) -> bool:
        return self.bye is not None and self.contiguous()[0] > self.bye

    @property
    def newest(self) -> int:
        return max(until for number, until in self.frontiers.items() if number >= self.base)

    def missed(self) -> list[tuple[int, int]]:
        """Gaps, and of holes: until the first record after them that moved the frontier."""
        found = list(self.gaps)
        missing = self.contiguous()[0]
        for since, number in self.holes:
            after = self.frontiers[number]
            moved = [f for n, f in self.frontiers.items() if number < n < missing and f > after]
            found.append((since, min(moved, default=after)))
        return found


@dataclass
class Row:
    """One row of received samples, as it came."""

    stream: str
    seq: int
    second: int
    intended: int
    sent: int
    received: int
    ipdv: int | None
    flags: int
    late: bool


@dataclass
class OracleWindow:
    start: int
    rows: list[Row] = field(default_factory=list)
    headers: list[Header] = field(default_factory=list)  # of received records with rows
    ledgers: dict[tuple[str, int], tuple[Header, list[tuple[int, str]]]] = field(default_factory=dict)
    foreign: int = 0
    final: bool = False
    revision: int = 0
    classes0: dict[Any, str] = field(default_factory=dict)
    since: int | None = None
    clock: dict[str, int] | None = None
    newest: dict[str, Any] = field(default_factory=dict)
