"""A protocol of the tests' own, in memory: `from memory_transport import MemoryTransport`.

It has addresses with a queue each, and does what a test tells it: gives credit, settles, cuts, comes back.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from collectors.config.model import Endpoint
from collectors.config.paths import Path
from collectors.contract.records import Outcome
from collectors.probe.engine.loop import Loop
from collectors.probe.message import Properties
from collectors.probe.transport import Envelope, Note, ReceiverEvents, SenderEvents

_HEAD = b"head"


class MemoryTransport:
    """All its connections are in one network, whose messages go from senders to receivers of an address."""

    def __init__(self, loop: Loop, credit: int = 1_000_000) -> None:
        """Receivers accept at once, and senders have so much credit after each attach."""
        self.loop, self.credit = loop, credit
        self.queues: defaultdict[str, deque[tuple[MemorySendingLink, int, bytes]]] = defaultdict(deque)
        self.made: list[MemoryConnection] = []

    def connection(self, endpoint: Endpoint, name: str) -> MemoryConnection:  # noqa: ARG002 -- the interface
        self.made.append(MemoryConnection(self))
        return self.made[-1]

    def connections(self) -> list[Any]:
        return list(self.made)

    def deliver(self) -> None:
        """Hands what was sent to receivers, in turns."""
        for connection in self.made:
            for link in connection.links:
                if isinstance(link, MemoryReceivingLink) and link.attached and not link.stopped:
                    link.take_from(self.queues[link.address])


class MemoryConnection:
    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        self.links: list[Any] = []
        self.open = self.closed = False
        self.problem = "not connected yet"
        self.peer = ""

    def start(self) -> None:
        self.open, self.problem, self.peer = True, "", "memory"
        for link in self.links:
            link.attach()

    def cut(self, reason: str = "cut") -> None:
        self.open, self.problem = False, reason
        for link in self.links:
            link.lose(reason)

    def close(self) -> None:
        self.open, self.closed = False, True

    abort = close

    def add_sender(self, path: Path, name: str, events: SenderEvents) -> MemorySendingLink:
        return self._add(MemorySendingLink(self, path, name, events))

    def add_receiver(self, path: Path, name: str, events: ReceiverEvents) -> MemoryReceivingLink:
        return self._add(MemoryReceivingLink(self, path, name, events))

    def listen(
        self,
        name: str,
        take: Callable[[Note], None],
        *,
        address: str | None = None,
        opened: Callable[[], None] = lambda: None,
    ) -> Any:
        raise NotImplementedError  # without clocks to compare, nobody asks

    def note_sender(self, name: str) -> Any:
        raise NotImplementedError

    def _add(self, link: Any) -> Any:
        self.links.append(link)
        if self.open:
            link.attach()
        return link


class MemorySendingLink:
    """Messages without an outcome are in `unsettled`, until the test or a receiver settles them."""

    def __init__(self, connection: MemoryConnection, path: Path, name: str, events: SenderEvents) -> None:
        self.connection, self.path, self.name, self.events = connection, path, name, events
        self.attached = self.held = False
        self.credit = 0
        self.unwritten: list[int] = []
        self.numbers: list[int] = []  # sent and not settled
        self.waiting: list[Callable[[], None]] = []

    @property
    def unsettled(self) -> int:
        return len(self.unwritten if self.path.presettled else self.numbers)

    @property
    def first_unwritten(self) -> int | None:
        return min(self.unwritten, default=None)

    def attach(self) -> None:
        self.attached, self.credit = True, self.connection.transport.credit
        self.events.on_attached()

    def lose(self, reason: str) -> None:
        lost, self.numbers, self.unwritten = self.numbers, [], []
        self.events.on_lost(reason, lost)
        self.attached, self.credit = False, 0

    def grant(self, credit: int) -> None:
        self.credit += credit
        self.events.on_credit()

    def settle(self, number: int, outcome: Outcome) -> None:
        if number in self.numbers:
            self.numbers.remove(number)
            self.events.on_outcome(number, outcome)

    def write(self) -> None:
        """All that was sent is out."""
        self.events.before_write()
        self.held = False
        if self.path.presettled:
            self.numbers, self.unwritten = [], []
        waiting, self.waiting = self.waiting, []
        for call in waiting:
            call()

    def when_written(self, call: Callable[[], None]) -> None:
        self.waiting.append(call)

    def encode(self, body: bytes, properties: Properties) -> bytearray:  # noqa: ARG002 -- the interface
        return bytearray(_HEAD + body)

    def prepare(self, message: bytearray) -> Callable[[int], None]:
        queue = self.connection.transport.queues[self.path.address]

        def send(number: int) -> None:
            self.credit -= 1
            self.numbers.append(number)
            queue.append((self, number, bytes(message)))

        return send

    def flush(self, first: int, below: int) -> None:
        if self.path.presettled:
            self.unwritten += range(first, below)
        self.connection.transport.loop.before_waiting(self.connection.transport.deliver)

    def close(self) -> None:
        self.attached = False
        self.connection.links.remove(self)


class MemoryReceivingLink:
    def __init__(self, connection: MemoryConnection, path: Path, name: str, events: ReceiverEvents) -> None:
        self.connection, self.path, self.name, self.events = connection, path, name, events
        self.attached = self.stopped = False
        self.is_read = True
        self.address = path.receive_address or f"memory/{name}"

    def attach(self) -> None:
        self.attached = True
        self.events.on_attached(self.address)

    def lose(self, reason: str) -> None:
        self.events.on_lost(reason)
        self.attached = False

    def take_from(self, queue: deque[tuple[MemorySendingLink, int, bytes]]) -> None:
        while queue:
            sender, number, data = queue.popleft()
            accepted = self.events.on_message(memoryview(data), len(data))
            sender.settle(number, "accepted" if accepted else "released")

    def stop(self) -> None:
        self.stopped = True

    def envelope(self, data: bytes) -> Envelope | None:
        found = data.startswith(_HEAD)
        return Envelope(len(_HEAD), len(data) - len(_HEAD), redelivered=False, route=None) if found else None

    def reply_address(self, data: bytes) -> str | None:  # noqa: ARG002 -- the interface
        return None

    def close(self) -> None:
        self.attached = False
        self.connection.links.remove(self)
