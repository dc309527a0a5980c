"""Senders and receivers of paths, attached to a router or to a broker."""

from __future__ import annotations

from dataclasses import dataclass, field

from .broker import Broker
from .network import Network
from .parts import CAPACITY, MS, SECOND, Link, Message, Router


def colours(address: str, marking_ns: int) -> tuple[str, ...]:
    """Return the addresses that a path sends to: two in turn where it is marked."""
    return (f"{address}/0", f"{address}/1") if marking_ns else (address,)


@dataclass(eq=False)
class Sender:
    """Sends on a schedule; what it could not send is unsent and no message."""

    network: Network
    path: str
    address: str
    name: str
    at: Router | Broker
    presettled: bool
    interval_ns: int
    until_ns: int
    ttl_ns: int = 60 * SECOND
    clock_ns: int = 0
    marking_ns: int = 0  # how long it sends to one of two addresses before it goes to the other
    links: list[Link] = field(default_factory=list)
    credit: int = CAPACITY
    outstanding: int = 0
    sent: list[Message] = field(default_factory=list)
    unsent: list[tuple[int, str]] = field(default_factory=list)

    def attach(self) -> None:
        if isinstance(self.at, Router):
            if not self.at.alive:
                self.network.after(SECOND, self.attach)
                return
            self.links = [self._attach(self.at, each) for each in colours(self.address, self.marking_ns)]
        self.credit, self.outstanding = CAPACITY, 0

    def _attach(self, router: Router, address: str) -> Link:
        key = router.key(address, "0")
        router.sources[key] = router.sources.get(key, 0) + 1
        self.network.refresh(router, key)
        return router.link(
            "end",
            "in",
            f"inflight-{self.name}",
            f"sender → {router.name}",
            address=address,
            phase="0" if router.flavour == "dispatch" else "",
            key=key,
            own=True,
        )

    @property
    def link(self) -> Link | None:
        """The link of the colour that it sends now."""
        if not self.links:
            return None
        colour = (self.network.now_ns + self.clock_ns) // self.marking_ns if self.marking_ns else 0
        return self.links[colour % len(self.links)]

    def begin(self) -> None:
        self.attach()
        self.network.after(self.network.rng.randrange(self.interval_ns), self.tick)

    def tick(self) -> None:
        now_ns = self.network.now_ns
        if now_ns >= self.until_ns:
            return
        jitter_ns = self.network.rng.randrange(self.interval_ns // 4)
        self.network.after(self.interval_ns - self.interval_ns // 8 + jitter_ns, self.tick)
        reason = self._why_not()
        if reason:
            self.unsent.append((now_ns, reason))
            return
        message = Message(
            self.path,
            len(self.sent),
            now_ns,
            self.presettled,
            now_ns + self.ttl_ns,
            self,
            self.presettled,
        )
        if self.presettled:
            message.outcome, message.outcome_ns = "presettled", now_ns
        self.sent.append(message)
        link = self.link
        if link is not None:
            self.outstanding += not self.presettled
            self.network.after(MS // 2, self.network.arrive, link, message)
        elif isinstance(self.at, Broker):
            self.network.after(MS // 2, self.at.take, message, self.address)

    def _why_not(self) -> str:
        """Return why it cannot send now."""
        if isinstance(self.at, Broker):
            return "" if self.at.up else "no_connection"
        link = self.link
        if link is None or link.dead:
            return "no_connection"
        key = link.key
        if self.at.subscribers.get(key) or self.at.hosts.get(key):
            self.credit = CAPACITY
        else:
            self.credit -= 1
        return "" if self.credit > 0 and self.outstanding < CAPACITY else "no_credit"

    def told(self, message: Message, outcome: str) -> None:
        self.outstanding -= 1
        message.outcome, message.outcome_ns = outcome, self.network.now_ns


@dataclass(eq=False)
class Receiver:
    """Takes what comes. Its probe sees that nothing comes while it is detached; in `away` nobody looks."""

    network: Network
    path: str
    address: str
    name: str
    at: Router | Broker
    phase: str = "0"
    marking_ns: int = 0
    links: list[Link] = field(default_factory=list)
    rejects: bool = False  # what it gets it gives back as failed, until a queue gives up
    away: list[tuple[int, int]] = field(default_factory=list)
    detached: list[tuple[int, int]] = field(default_factory=list)
    detached_ns: int | None = None

    def attach(self) -> None:
        if isinstance(self.at, Broker):
            self.at.queue(self.address).attach(self)
        elif not self.at.alive:
            self.network.after(SECOND, self.attach)
            return
        else:
            self.links = [self._attach(self.at, each) for each in colours(self.address, self.marking_ns)]
            self.network.after(self.network.rng.randrange(200 * MS, SECOND), self.network.learn)
        if self.detached_ns is not None:
            self.detached.append((self.detached_ns, self.network.now_ns))
            self.detached_ns = None

    def _attach(self, router: Router, address: str) -> Link:
        key = router.key(address, self.phase)
        link = router.link(
            "end",
            "out",
            f"inflight-{self.name}",
            f"{router.name} → receiver",
            address=address,
            phase=self.phase if router.flavour == "dispatch" else "",
            key=key,
            own=True,
            target=self,
        )
        router.subscribers.setdefault(key, []).append(link)
        self.network.refresh(router, key)
        return link

    def detach(self) -> None:
        """Its link ends; routers further away learn it later."""
        self.detached_ns = self.network.now_ns
        if isinstance(self.at, Broker):
            self.at.queue(self.address).detach(self)
        else:
            for link in [link for link in self.links if not link.dead]:
                self.at.subscribers[link.key].remove(link)
                self.network.end_link(link)
                self.network.refresh(self.at, link.key)
            self.network.after(self.network.rng.randrange(200 * MS, SECOND), self.network.learn)

    def take(self, message: Message) -> None:
        if self.rejects:
            self.network.after(MS, self.network.settle, message, "modified")
            return
        if message.received_ns is None:
            message.received_ns, message.receiver = self.network.now_ns, self.name
        else:
            message.duplicates += 1
        if not message.settled:
            self.network.after(MS, self.network.settle, message, "accepted")
