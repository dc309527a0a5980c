"""The seam between the ends of paths and a protocol: what they need of it, and what it tells them.

A sender and a receiver know this module only; collectors/probe/engine implements it for AMQP 1.0. All of it
is called in the loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple, Protocol

from collectors.config.model import Endpoint
from collectors.config.paths import Path
from collectors.contract.records import Outcome
from collectors.probe.message import Properties


class Transport(Protocol):
    """Makes the connections of one process."""

    def connection(self, endpoint: Endpoint, name: str) -> Connection:
        """Returns a new connection, not started; peers know this process by the name."""

    def connections(self) -> list[Connection]:
        """Returns all that were made, including those that the transport made by itself."""


class Connection(Protocol):
    """A connection to one of an endpoint's URLs.

    When it is lost it is made again, to the same or another URL, and all its links are attached again.
    """

    @property
    def open(self) -> bool: ...

    @property
    def closed(self) -> bool:
        """Whether it was closed from here, and its socket is closed too."""

    @property
    def problem(self) -> str:
        """Why it is not open; empty while it is."""

    @property
    def peer(self) -> str:
        """By what name the peer knows itself, now or when it was open last; empty where it was never told."""

    def start(self) -> None: ...

    def close(self) -> None:
        """Says goodbye to the peer; `abort` does not wait until that is written."""

    def abort(self) -> None: ...

    def add_sender(self, path: Path, name: str, events: SenderEvents) -> SendingLink: ...

    def add_receiver(self, path: Path, name: str, events: ReceiverEvents) -> ReceivingLink: ...

    def listen(
        self,
        name: str,
        take: Callable[[Note], None],
        *,
        address: str | None = None,
        opened: Callable[[], None] = lambda: None,
    ) -> Listener:
        """Receives notes at an address, or at one that the peer assigns.

        `opened` is called when the address is known; it may differ after each attach.
        """

    def note_sender(self, name: str) -> NoteSender: ...


class Link(Protocol):
    """One direction of messages on a connection; stays the same object when it is attached again."""

    @property
    def connection(self) -> Connection:
        """The connection that it is on now: a transport may move links to another one."""

    @property
    def attached(self) -> bool:
        """True until `on_lost` has been called: who sees from another thread that it is gone can see why."""

    def close(self) -> None:
        """Detaches; nothing is told of this link any more."""


class SendingLink(Link, Protocol):
    """Sends numbered messages.

    A turn of the sender: where `held`, wait for `when_written`; else call up to `credit` functions made by
    `prepare`, and at its end `flush`.
    """

    @property
    def credit(self) -> int:
        """How many messages the peer takes now; 0 while not attached."""

    @property
    def held(self) -> bool:
        """Whether messages sent before are still in this process: more would be lost with the connection."""

    @property
    def first_unwritten(self) -> int | None:
        """On a presettled path the lowest number that is neither out on the socket nor told as lost."""

    @property
    def unsettled(self) -> int:
        """How many messages have no outcome yet; of a presettled path, how many are not written yet."""

    def when_written(self, call: Callable[[], None]) -> None:
        """Calls it once, when all that waits here is written; not if the connection ends before."""

    def encode(self, body: bytes, properties: Properties) -> bytearray:
        """Returns a whole message, whose last bytes are the body."""

    def prepare(self, message: bytearray) -> Callable[[int], None]:
        """Returns a function that sends what the message's bytes then are, under a number.

        It is for this attachment only. Numbers have to rise.
        """

    def flush(self, first: int, below: int) -> None:
        """Lets what was sent in this turn, numbers from `first` on, go out at the end of the loop's round."""


class SenderEvents(Protocol):
    """What a transport tells a sender."""

    def on_attached(self) -> None: ...

    def on_credit(self) -> None: ...

    def on_outcome(self, number: int, outcome: Outcome) -> None: ...

    def on_lost(self, reason: str, numbers: Collection[int]) -> None:
        """The link is gone, or was refused; these numbers will have no outcome.

        On a presettled path they are those that may not have left this process.
        """

    def before_write(self) -> None:
        """Called before anything that happened in this round goes out to the peer."""


class ReceivingLink(Link, Protocol):
    """Receives messages as the bytes that they are."""

    @property
    def is_read(self) -> bool:
        """Whether all that had come to the socket is read."""

    @property
    def credit(self) -> int:
        """How many messages the peer may send yet; 0 while not attached."""

    def grant(self, count: int) -> None:
        """Lets the peer send so many more, on a path that is read at a rate; else the link does so itself."""

    def stop(self) -> None:
        """Takes no more messages: what comes now stays the peer's."""

    def envelope(self, data: bytes) -> Envelope | None:
        """Returns what surrounds the body of a message; None where it has no body of plain bytes."""

    def reply_address(self, data: bytes) -> str | None:
        """Returns the address that a message asks answers to be sent to."""


class ReceiverEvents(Protocol):
    """What a transport tells a receiver."""

    def on_attached(self, address: str) -> None:
        """Attached at this address, which the peer assigned if the path has none."""

    def on_message(self, buffer: memoryview, size: int) -> bool:
        """Returns whether the first `size` bytes are accepted; otherwise they are released.

        The buffer is the transport's, and is written over by the next message.
        """

    def on_lost(self, reason: str) -> None:
        """The link is gone, or was refused."""


class Envelope(NamedTuple):
    """Where the body of a message is, and what the network wrote around it."""

    body_at: int
    body_bytes: int
    redelivered: bool
    route: str | None  # the routers that it came through: `A>B`


class Note(NamedTuple):
    """A message that is not measured: a question about clocks, its answer, or an echo."""

    to: str | None
    body: Any  # bytes, or whatever a peer sends
    reply_to: str | None = None
    ttl_seconds: float = 0.0
    durable: bool = False
    priority: int = 4


class Listener(Link, Protocol):
    """Accepts all notes that come to its address."""

    @property
    def address(self) -> str | None:
        """None while it is not attached."""


class NoteSender(Link, Protocol):
    """Sends notes to any address."""

    def send(self, note: Note) -> bool:
        """Returns whether it could be sent at once; otherwise it is dropped."""
