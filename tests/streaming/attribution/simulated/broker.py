"""A broker of the kind of Artemis: queues with expiry, dead-lettering, purges and limits."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from .network import Network
from .parts import MS, SECOND, Link, Message, Name, Router

COUNTERS = ("added", "acknowledged", "expired", "killed")
ATTEMPTS = 10
PREFETCH = 100


class Consumer(Protocol):
    """A receiver that is attached to the broker."""

    def take(self, message: Message) -> None: ...


@dataclass(eq=False)
class Queue:
    """Messages that wait. It keeps what it has sent until that is acknowledged."""

    broker: Broker
    name: str
    messages: deque[Message] = field(default_factory=deque)
    delivering: set[Message] = field(default_factory=set)
    consumers: list[Consumer] = field(default_factory=list)
    inward: Link | None = None  # a router's in-link that takes from it
    paused: bool = False
    pace_ns: int = 0
    free_ns: int = 0
    waking: bool = False
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0))
    turn: int = 0
    keeps: bool = True

    @property
    def hop(self) -> str:
        return f"{self.broker.name}: {self.name}"

    def attach(self, consumer: Consumer) -> None:
        self.consumers.append(consumer)
        self.pump()

    def detach(self, consumer: Consumer) -> None:
        self.consumers.remove(consumer)
        self.give_back()

    def give_back(self) -> None:
        """What was sent and not acknowledged waits again."""
        self.messages.extendleft(sorted(self.delivering, key=lambda m: -m.number))
        self.delivering.clear()
        self.pump()

    def add(self, message: Message) -> None:
        self.counts["added"] += 1
        message.origin, message.settled = self, False
        self.messages.append(message)
        self.pump()

    def _ready(self) -> bool:
        if self.consumers:
            return True
        link = self.inward
        if link is None or link.dead or not link.router.alive:
            return False
        return bool(link.router.subscribers.get(link.key) or link.router.hosts.get(link.key))

    def pump(self) -> None:
        network = self.broker.network
        while self.messages and len(self.delivering) < PREFETCH and not self.paused and self._ready():
            if self.pace_ns:
                if network.now_ns < self.free_ns:
                    if not self.waking:
                        self.waking = True
                        network.at(self.free_ns, self._wake)
                    return
                self.free_ns = network.now_ns + self.pace_ns
            message = self.messages.popleft()
            if message.expires_ns <= network.now_ns:
                self.take_away(message, "expired")
                continue
            self.delivering.add(message)
            message.trail = []
            if self.consumers:
                self.turn += 1
                network.after(MS, self._hand_over, self.consumers[self.turn % len(self.consumers)], message)
            elif self.inward is not None:
                network.after(MS, network.arrive, self.inward, message)

    def _wake(self) -> None:
        self.waking = False
        self.pump()

    def _hand_over(self, consumer: Consumer, message: Message) -> None:
        if consumer in self.consumers and message in self.delivering:
            consumer.take(message)

    def take_away(self, message: Message, cause: str) -> None:
        """It leaves the queue for good, counted by that cause."""
        self.counts[cause] += 1
        if message.received_ns is None:
            self.broker.network.count((self.hop, cause))
            message.names = message.names or ((self.hop, cause),)

    def told(self, message: Message, outcome: str) -> None:
        if message not in self.delivering:
            return
        self.delivering.discard(message)
        if outcome == "accepted":
            self.counts["acknowledged"] += 1
        else:
            message.attempts += outcome == "modified"
            if message.attempts >= ATTEMPTS:
                self.take_away(message, "killed")
            else:
                self.messages.appendleft(message)
        if outcome == "accepted":
            self.pump()
        else:
            self.broker.network.after(100 * MS, self.pump)

    def scan(self, now_ns: int) -> None:
        kept: deque[Message] = deque()
        for message in self.messages:
            if message.expires_ns <= now_ns:
                self.take_away(message, "expired")
            else:
                kept.append(message)
        self.messages = kept

    def purge(self) -> None:
        """An operator removes what waits, which counts as acknowledged and is told nowhere."""
        self.counts["acknowledged"] += len(self.messages)
        for message in self.messages:
            message.purged = True
        self.messages.clear()


@dataclass(eq=False)
class Broker:
    """A broker with a queue for each address it knows."""

    network: Network
    name: str
    scan_ns: int = 30 * SECOND
    up: bool = True
    starts: int = 0
    queues: dict[str, Queue] = field(default_factory=dict)
    unrouted: dict[str, int] = field(default_factory=dict)
    full: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)  # addresses whose queue was removed
    router: Router | None = None

    def queue(self, address: str) -> Queue:
        if address not in self.queues:
            self.queues[address] = Queue(self, address)
            self.unrouted.setdefault(address, 0)
        return self.queues[address]

    def begin(self) -> None:
        self.network.after(self.network.rng.randrange(self.scan_ns), self._scan)

    def _scan(self) -> None:
        for queue in self.queues.values():
            queue.scan(self.network.now_ns)
        self.network.after(self.scan_ns, self._scan)

    def bind(self, router: Router, address: str) -> None:
        """Make auto-links to and from this queue at a router that has phases."""
        self.router = router
        queue, network = self.queue(address), self.network
        to, back = router.key(address, "0"), router.key(address, "1")
        out = router.link(
            "end",
            "out",
            self.name,
            f"{router.name} → {self.name}",
            address=address,
            phase="0",
            key=to,
            target=Intake(self, address),
        )
        router.subscribers.setdefault(to, []).append(out)
        queue.inward = router.link(
            "end",
            "in",
            self.name,
            f"{self.name} → {router.name}",
            address=address,
            phase="1",
            key=back,
        )
        router.sources[back] = router.sources.get(back, 0) + 1
        network.refresh(router, to)
        network.refresh(router, back)
        queue.give_back()

    def take(self, message: Message, address: str) -> None:
        hop = f"{self.name}: {address}"
        if not self.up:
            self.network.lose(message, (hop, "gone"), *_link_to(message))
            return
        names: tuple[Name, ...] = ()
        if address in self.full:
            names = ((hop, "rejected"),)
            outcome = "rejected"
        else:
            outcome = "accepted"
            if address in self.absent:
                self.unrouted[address] += 1
                names = ((hop, "unrouted"),)
        if names:
            self.network.lose(message, *names)
        settled, trail, origin = message.settled, message.trail, message.origin
        if not settled and not trail:
            self.network.after(MS, origin.told, message, outcome)
        elif not settled:
            self.network.settle(message, outcome)
        if not names:
            self.queue(address).add(message)

    def kill(self) -> None:
        """Its messages are not durable."""
        self.up = False
        for queue in self.queues.values():
            for message in [*queue.messages, *sorted(queue.delivering, key=lambda m: m.number)]:
                message.names = message.names or ((queue.hop, "gone"),)
                self.network.count((queue.hop, "gone"))
            queue.messages.clear()
            queue.delivering.clear()
            queue.counts = dict.fromkeys(COUNTERS, 0)
            queue.paused = True
        self.unrouted = dict.fromkeys(self.unrouted, 0)

    def start(self) -> None:
        self.up = True
        self.starts += 1
        for queue in self.queues.values():
            queue.paused = False
            queue.pump()


@dataclass(frozen=True, slots=True)
class Intake:
    """Where an auto-link leads to."""

    broker: Broker
    address: str

    def take(self, message: Message) -> None:
        self.broker.take(message, self.address)


def _link_to(message: Message) -> tuple[Name, ...]:
    return tuple((link.hop, "gone") for _, _, link in message.trail[-1:] if link is not None)
