"""Who asks whom about clocks: answering beside a process's senders, asking beside its receivers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from proton import Message

from collectors.probe.engine.connection import Connection
from collectors.probe.engine.side_links import Inlet, Outlet
from collectors.probe.measure.clock_messages import Answer, Question, answer, answer_in, question_message

_MAX_ADDRESSES: Final = 1024


class Answering:
    """Answers for all senders on one connection."""

    def __init__(
        self,
        connection: Connection,
        now_ns: Callable[[], int],
        heard: Callable[[str, str, int], bool],
        moved: Callable[[], None],
    ) -> None:
        """`heard` is told of each question; `moved` is called when `address` is another one."""
        self._now_ns, self._heard = now_ns, heard
        self._inlet = Inlet(connection, "inflight-clock-answers", self._take, opened=moved)
        self._outlet = Outlet(connection, "inflight-clock-answers")
        connection.add(self._inlet)
        connection.add(self._outlet)

    @property
    def address(self) -> str | None:
        """Where questions are to be sent."""
        return self._inlet.address

    def remove_from(self, connection: Connection) -> None:
        connection.remove(self._inlet)
        connection.remove(self._outlet)

    def _take(self, message: Message) -> None:
        reply = answer(message, self._now_ns, self._heard)
        if reply is not None:
            self._outlet.send(reply)


class Asking:
    """Asks for all receivers on one connection."""

    def __init__(
        self, connection: Connection, now_ns: Callable[[], int], told: Callable[[Answer, int], None]
    ) -> None:
        """`told` gets each answer, and when it came."""
        self._now_ns, self._told = now_ns, told
        self._addresses: dict[str, str] = {}
        self._inlet = Inlet(connection, "inflight-clock-questions", self._take)
        self._outlet = Outlet(connection, "inflight-clock-questions")
        connection.add(self._inlet)
        connection.add(self._outlet)

    def answers_to(self, stream: str, address: str) -> None:
        """Where the sender of a stream listens."""
        if len(self._addresses) >= _MAX_ADDRESSES and stream not in self._addresses:
            del self._addresses[next(iter(self._addresses))]
        self._addresses[stream] = address

    def ask(self, stream: str, receiver: str, highest: int) -> None:
        """Ask the sender of a stream, if it is known where it listens."""
        to, reply_to = self._addresses.get(stream), self._inlet.address
        if to is not None and reply_to is not None:
            question = Question(int(stream, 16), self._now_ns(), highest, receiver)
            self._outlet.send(question_message(to, reply_to, question))

    def remove_from(self, connection: Connection) -> None:
        connection.remove(self._inlet)
        connection.remove(self._outlet)

    def _take(self, message: Message) -> None:
        received_ns = self._now_ns()
        found = answer_in(message)
        if found is not None:
            self._told(found, received_ns)
