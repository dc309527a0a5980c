"""One router of a trace: how it is asked, what it has told, how it answers. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from collectors.router import schema
from collectors.router.asked import AskedRouter
from collectors.router.management import Query
from collectors.router.replies import Row, Table
from deploy.trace.facts import Facts
from deploy.trace.measure import RoundTrips
from deploy.trace.route import Told

MAX_LINK_PAGES: Final = 10


@dataclass(slots=True)
class Traced:
    """A router, what it has told, and the round trips to it."""

    asked: AskedRouter
    facts: Facts = field(default_factory=Facts)
    told: Told | None = None  # of its surroundings, by these facts
    trips: RoundTrips = field(default_factory=RoundTrips)
    pages: list[Row] = field(default_factory=list)  # of links, until all are there
    cut: bool = False  # it has more links than were asked for
    note: str = ""  # what was wrong with one of its answers
    returned: str = ""  # why requests come back, until one is answered
    denied: bool = False

    def take_in(self, request: Query, page: Table, address: str | None) -> int:
        """Keep the rows of a reply; returns where the next page of links begins, 0 if none is to be asked."""
        if request.entity is schema.NODE:
            self.facts.nodes = page.rows
        elif request.entity is schema.CONNECTION:
            self.facts.connections = page.rows
        else:
            self.pages = (self.pages if request.offset else []) + page.rows
            more = page.came >= schema.PAGE
            self.cut = more and request.offset >= (MAX_LINK_PAGES - 1) * schema.PAGE
            if more and not self.cut:
                return request.offset + page.came
            self.facts.tell_links(self.pages, address, self.asked.flavour)
            self.pages = []
        return 0

    def find_told(self, address: str | None) -> None:
        self.told = self.facts.told(address, self.asked.flavour)
