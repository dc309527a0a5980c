"""What a mesh as a whole told: which routers and links were up, and when not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from collectors.contract.telemetry import Telemetry
from streaming.attribution.one_run import OneRun
from streaming.attribution.told_names import is_name

MOST: Final = 4_096
MOST_SPANS: Final = 256  # outages of one: the newest ones are kept
APART: Final = "\0"


@dataclass(slots=True)
class Outages:
    """When a router or a link was not there, each time from the last poll that told it up; 0: it goes on."""

    up: bool = True
    told_ns: int = 0
    reason: str = ""
    spans: list[list[int]] = field(default_factory=list)

    def tell(self, ns: int, *, up: bool, reason: str = "") -> None:
        if self.up and not up:
            self.spans.append([self.told_ns or ns, 0])
            del self.spans[:-MOST_SPANS]
        elif up and not self.up and self.spans:
            self.spans[-1][1] = ns
        self.up, self.told_ns, self.reason = up, ns, reason

    def meets(self, from_ns: int, to_ns: int) -> list[int] | None:
        """Return the first outage that meets this time."""
        return next(
            (span for span in self.spans if span[0] < to_ns and (not span[1] or span[1] > from_ns)), None
        )

    def forget(self, before_ns: int) -> None:
        self.spans = [span for span in self.spans if not span[1] or span[1] >= before_ns]


@dataclass(slots=True)
class MeshHistory:
    """One mesh, as its collector sees it."""

    mesh: str
    listened: OneRun = field(default_factory=OneRun)
    told_ns: int = 0
    routers: dict[str, Outages] = field(default_factory=dict)
    links: dict[str, Outages] = field(default_factory=dict)  # by both ends, in order

    def take(self, record: Telemetry) -> None:
        """Take in the record of the mesh."""
        if not self.listened.listens(record):
            return
        ns = max(record.at_ns, record.answered_ns)
        self.told_ns = max(ns, self.told_ns)
        for row in record.rows:
            up = row.get("up")
            if not isinstance(up, bool):
                continue
            if row.get("kind") == "router" and is_name(row.get("router")):
                reason = row.get("reason")
                self._tell(self.routers, row["router"], ns, up=up, reason=str(reason)[:200] if reason else "")
            elif row.get("kind") == "edge" and all(is_name(row.get(end)) for end in ("source", "target")):
                self._tell(self.links, link_key(row["source"], row["target"]), ns, up=up)

    def link(self, one: str, other: str) -> Outages | None:
        return self.links.get(link_key(one, other))

    def forget(self, before_ns: int) -> None:
        for kept in (self.routers, self.links):
            for name in [name for name, each in kept.items() if each.told_ns < before_ns]:
                del kept[name]
            for each in kept.values():
                each.forget(before_ns)

    @staticmethod
    def _tell(kept: dict[str, Outages], name: str, ns: int, *, up: bool, reason: str = "") -> None:
        if name in kept or len(kept) < MOST:
            kept.setdefault(name, Outages()).tell(ns, up=up, reason=reason)


def link_key(one: str, other: str) -> str:
    """Return the name of a link, whichever end tells of it."""
    return APART.join(sorted((one, other)))
