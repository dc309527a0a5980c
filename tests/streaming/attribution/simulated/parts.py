"""What a simulated network is made of: messages, links, addresses, routers and the ways between them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Protocol

MS = 1_000_000
SECOND = 1_000_000_000
T0 = 1_700_000_000 * SECOND
CAPACITY = 250  # of a link, as routers grant it

Name = tuple[str, str]  # hop and cause
OUTCOMES = ("accepted", "rejected", "released", "modified")


class Origin(Protocol):
    """Who sent a message on this leg of its way, and is told what became of it."""

    def told(self, message: Message, outcome: str) -> None: ...


class Target(Protocol):
    """Who takes messages at the end of a router's link."""

    def take(self, message: Message) -> None: ...


@dataclass(slots=True, eq=False)
class Message:
    """One message of a path. `names` are the hop and cause that took it, with others that are as true."""

    path: str
    number: int
    sent_ns: int
    presettled: bool
    expires_ns: int
    origin: Origin
    settled: bool  # on this leg: behind a broker's queue all is acknowledged
    trail: list[tuple[Router, Link, Link | None]] = field(default_factory=list)
    stops: list[str] = field(default_factory=list)  # the routers it came through, on both legs
    outcome: str = "unsettled"
    outcome_ns: int = 0
    received_ns: int | None = None
    receiver: str = ""
    duplicates: int = 0
    attempts: int = 0
    purged: bool = False
    names: tuple[Name, ...] = ()

    def lose(self, *names: Name) -> None:
        """Say where it was lost, unless that was said before or a queue keeps it until it is acknowledged."""
        if not self.names and getattr(self.origin, "keeps", None) is not True:
            self.names = names


@dataclass(slots=True, eq=False)
class Way:
    """Between two routers. It is cut at once, and the routers notice later."""

    one: str
    other: str
    cost: int
    latency_ns: int
    cut: bool = False
    known: bool = True  # the routers believe in it
    loses: float = 0.0  # this share of what is settled, which nobody counts

    def beyond(self, router: str) -> str:
        return self.other if router == self.one else self.one


@dataclass(slots=True, eq=False)
class Link:
    """A link as its router sees it. Its counters go when it does."""

    identity: str
    router: Router
    kind: str
    direction: str
    peer: str
    hop: str
    address: str = ""
    phase: str = ""
    key: str = ""
    own: bool = False
    way: Way | None = None
    partner: Link | None = None  # the in-link at the other router
    target: Target | None = None
    latency_ns: int = MS
    capacity: int = CAPACITY
    dead: bool = False
    stalled: bool = False  # nothing goes out: no credit
    stalled_since_ns: int = 0
    pace_ns: int = 0  # a slow consumer grants credit for one message in this time
    free_ns: int = 0
    waking: bool = False
    deliveries: int = 0
    presettled: int = 0
    dropped: int = 0
    outcomes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    queue: deque[Message] = field(default_factory=deque)
    unsettled: set[Message] = field(default_factory=set)


@dataclass(slots=True)
class Entity:
    """An address at one router: it goes with its last subscriber and source, and comes back from 0."""

    key: str
    address: str
    phase: str
    ingress: int = 0
    egress: int = 0
    transit: int = 0
    turn: int = 0


@dataclass(slots=True, eq=False)
class Router:
    """A router with what it knows."""

    name: str
    flavour: str
    instance: int
    alive: bool = True
    identity: int = 0
    dropped: int = 0  # its total, which keeps what links that went had dropped, and what died with them
    entities: dict[str, Entity] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    towards: dict[str, Link] = field(default_factory=dict)  # out-links by neighbour
    subscribers: dict[str, list[Link]] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    hosts: dict[str, set[str]] = field(default_factory=dict)
    next_hop: dict[str, str] = field(default_factory=dict)
    cost: dict[str, int] = field(default_factory=dict)

    def key(self, address: str, phase: str) -> str:
        return f"M{phase if self.flavour == 'dispatch' else ''}{address}"

    def link(self, kind: str, direction: str, peer: str, hop: str, **more: Any) -> Link:
        self.identity += 1
        made = Link(str(self.identity), self, kind, direction, peer, hop, **more)
        self.links[made.identity] = made
        return made
