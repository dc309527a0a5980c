"""What a broker said in one poll."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from collectors.broker.schema import Product

Row = dict[str, Any]


@dataclass(slots=True)
class BrokerSnapshot:
    """The rows of all MBeans by their kind, and what was wrong with some of them."""

    product: Product
    at_ns: int
    steady_ns: int
    beans: dict[str, list[Row]]
    pools: dict[str, dict[str, int]] = field(default_factory=dict)  # memory, by common names
    faults: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    omitted: dict[str, int] = field(default_factory=dict)
    asked_ns: int = 0  # when the request was sent whose answer came at `at_ns`

    def one(self, bean: str) -> Row:
        """Return the row of an MBean that exists once; empty if it could not be read."""
        rows = self.beans.get(bean)
        return rows[0] if rows else {}

    @property
    def start_ms(self) -> int | None:
        start: int | None = self.one("runtime").get("start_ms")
        return start

    @property
    def ha_role(self) -> str:
        """Which broker of a pair it is: active, backup or inactive."""
        broker = self.one("broker")
        if broker.get("backup") and not broker.get("active", False):
            return "backup"
        return "active" if broker.get("active", True) else "inactive"
