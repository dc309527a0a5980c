"""The links of an end: one, or two of a marked path, one for each colour (streaming/marking.md)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final

from collectors.config.paths import Path
from collectors.contract.records import SECOND_NS
from collectors.probe.measure.arrivals import FLAG_SECOND_COLOUR
from collectors.probe.message import Properties, Template
from collectors.probe.transport import Connection, ReceivingLink, SendingLink

if TYPE_CHECKING:
    from collectors.probe.receiver import Receiver
    from collectors.probe.sender import Sender

_ROW_FLAGS: Final = (0, FLAG_SECOND_COLOUR)


class SendingColour:
    """A sender's link to the address of one colour, and the messages prepared for it."""

    def __init__(self, connection: Connection, path: Path, name: str, sender: Sender) -> None:
        self._sender = sender
        self.on_credit, self.on_outcome = sender.on_credit, sender.on_outcome
        self.before_write = sender.before_write
        # Each with the function that sends it; none while the link is not attached.
        self.templates: list[tuple[Template, Callable[[int], None]]] = []
        self.link: Final[SendingLink] = connection.add_sender(path, name, self)

    def make_templates(self, bodies: Sequence[bytes], properties: Properties) -> None:
        self.templates = []
        for body in bodies:
            template = Template(self.link.encode(body, properties), len(body))
            self.templates.append((template, self.link.prepare(template.message)))

    def on_attached(self) -> None:
        self._sender.on_attached(self)

    def on_lost(self, reason: str, numbers: Collection[int]) -> None:
        self.templates = []
        self._sender.on_lost(reason, numbers)


class SendingColours:
    """All of a sender's links; which one a message goes by is decided by when it is sent."""

    def __init__(self, connection: Connection, path: Path, run: int, sender: Sender) -> None:
        self._ns = path.marking_ns or SECOND_NS
        self._all = [
            SendingColour(connection, one, name, sender)
            for one, name in zip(path.colours, _names(path, run), strict=True)
        ]

    @property
    def first(self) -> SendingLink:
        return self._all[0].link

    def at(self, sent_ns: int) -> SendingColour:
        return self._all[sent_ns // self._ns % len(self._all)]

    @property
    def attached(self) -> bool:
        return all(colour.link.attached for colour in self._all)

    @property
    def all_have_credit(self) -> bool:
        return all(colour.link.credit > 0 for colour in self._all)

    @property
    def prepared(self) -> list[SendingColour]:
        """Those that have messages to send."""
        return [colour for colour in self._all if colour.templates]

    @property
    def several(self) -> bool:
        return len(self._all) > 1

    @property
    def problem(self) -> str:
        return _problem([colour.link for colour in self._all])

    @property
    def unsettled(self) -> int:
        return sum(colour.link.unsettled for colour in self._all)

    def written_below(self, next_seq: int) -> int:
        """Returns below which number all messages of a presettled path are out, or told as lost."""
        waiting = [n for colour in self._all if (n := colour.link.first_unwritten) is not None]
        return min(waiting, default=next_seq)

    def close(self) -> None:
        for colour in self._all:
            colour.link.close()


class ReceivingColour:
    """A receiver's link from the address of one colour, whose rows are marked with it."""

    def __init__(
        self, connection: Connection, path: Path, name: str, receiver: Receiver, row_flag: int
    ) -> None:
        self.on_attached, self.on_lost = receiver.on_attached, receiver.on_lost
        take = receiver.on_message
        self.on_message = functools.partial(take, row_flag=row_flag) if row_flag else take
        self.link: Final[ReceivingLink] = connection.add_receiver(path, name, self)


class ReceivingColours:
    """All of a receiver's links."""

    def __init__(self, connection: Connection, path: Path, run: int, receiver: Receiver) -> None:
        self._all = [
            ReceivingColour(connection, one, name, receiver, flag).link
            for one, name, flag in zip(path.colours, _names(path, run), _ROW_FLAGS, strict=False)
        ]
        self.envelope, self.reply_address = self.first.envelope, self.first.reply_address

    @property
    def first(self) -> ReceivingLink:
        return self._all[0]

    @property
    def attached(self) -> bool:
        return all(link.attached for link in self._all)

    @property
    def problem(self) -> str:
        return _problem(self._all)

    @property
    def is_read(self) -> bool:
        """Whether all that had come to the sockets is read."""
        return all(link.is_read for link in self._all)

    def stop(self) -> None:
        for link in self._all:
            link.stop()

    def close(self) -> None:
        for link in self._all:
            link.close()


def _names(path: Path, run: int) -> list[str]:
    name = f"inflight-{run:016x}"
    return [name] if not path.marking_ns else [f"{name}-{colour}" for colour in range(len(path.colours))]


def _problem(links: Sequence[SendingLink] | Sequence[ReceivingLink]) -> str:
    """Returns why a connection is not open; empty where all are."""
    return next((problem for link in links if (problem := link.connection.problem)), "")
