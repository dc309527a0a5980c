"""Exchanges of notes about clocks: receivers' processes ask, senders' processes answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Final

from collectors.probe.measure.clock import ClockComparison
from collectors.probe.measure.clock_messages import Answer, Question, answer_to, read_answer, write_question
from collectors.probe.transport import Connection, Note

_MAX_ADDRESSES: Final = 1024


class ClockResponder:
    """Answers for all senders on one connection."""

    def __init__(
        self,
        connection: Connection,
        now_ns: Callable[[], int],
        is_ours: Callable[[str, str, int], bool],
        address_changed: Callable[[], None],
    ) -> None:
        """`is_ours` gets stream, receiver and its highest number; only streams of ours are answered."""
        self._now_ns, self._is_ours = now_ns, is_ours
        name = "inflight-clock-answers"
        self._listener = connection.listen(name, self._on_note, opened=address_changed)
        self._sender = connection.note_sender(name)

    @property
    def address(self) -> str | None:
        """Where questions are to be sent."""
        return self._listener.address

    def close(self) -> None:
        self._listener.close()
        self._sender.close()

    def _on_note(self, note: Note) -> None:
        answer = answer_to(note, self._now_ns, self._is_ours)
        if answer is not None:
            self._sender.send(answer)


class ClockAsker:
    """Asks for all receivers on one connection."""

    def __init__(
        self, connection: Connection, now_ns: Callable[[], int], on_answer: Callable[[Answer, int], None]
    ) -> None:
        """`on_answer` is called with each answer, and when it came."""
        self._now_ns, self._on_answer = now_ns, on_answer
        self._addresses: dict[str, str] = {}  # of senders, by stream
        name = "inflight-clock-questions"
        self._listener = connection.listen(name, self._on_note)
        self._sender = connection.note_sender(name)

    def sender_listens_at(self, stream: str, address: str) -> None:
        if len(self._addresses) >= _MAX_ADDRESSES and stream not in self._addresses:
            del self._addresses[next(iter(self._addresses))]
        self._addresses[stream] = address

    def ask(self, stream: str, receiver: str, highest: int) -> None:
        """Asks the sender of a stream, if its address is known."""
        to, reply_to = self._addresses.get(stream), self._listener.address
        if to is not None and reply_to is not None:
            question = Question(int(stream, 16), self._now_ns(), highest, receiver)
            self._sender.send(write_question(to, reply_to, question))

    def close(self) -> None:
        self._listener.close()
        self._sender.close()

    def _on_note(self, note: Note) -> None:
        received_ns = self._now_ns()
        answer = read_answer(note)
        if answer is not None:
            self._on_answer(answer, received_ns)


class ClockExchanges:
    """All exchanges of a process, and what its receivers learn from them."""

    def __init__(
        self,
        now_ns: Callable[[], int],
        is_ours: Callable[[str, str, int], bool],
        address_changed: Callable[[], None],
        *,
        active: bool,
    ) -> None:
        """Nothing is asked or answered unless `active`."""
        self._now_ns, self._is_ours, self._address_changed = now_ns, is_ours, address_changed
        self._active = active
        self._responders: dict[Connection, ClockResponder] = {}
        self._askers: dict[Connection, ClockAsker] = {}
        self._comparisons: defaultdict[str, dict[str, ClockComparison]] = defaultdict(dict)  # by flow, stream

    def answer_on(self, connection: Connection) -> None:
        """Answers for the senders that were put on this connection."""
        if self._active and connection not in self._responders:
            self._responders[connection] = ClockResponder(
                connection, self._now_ns, self._is_ours, self._address_changed
            )

    def asker_on(self, connection: Connection) -> ClockAsker | None:
        """Returns the one for the receivers that were put on this connection."""
        if self._active and connection not in self._askers:
            self._askers[connection] = ClockAsker(connection, self._now_ns, self._on_answer)
        return self._askers.get(connection)

    def answer_address(self, connection: Connection) -> str | None:
        """Returns where questions for the connection's senders are to be sent."""
        responder = self._responders.get(connection)
        return responder.address if responder else None

    def comparisons(self, flow: str) -> dict[str, ClockComparison]:
        """Returns the comparisons by stream, for all of a flow's receivers to share and add to."""
        return self._comparisons[flow]

    def close(self) -> None:
        for responder in self._responders.values():
            responder.close()
        for asker in self._askers.values():
            asker.close()

    def _on_answer(self, answer: Answer, received_ns: int) -> None:
        for comparisons in self._comparisons.values():
            comparison = comparisons.get(f"{answer.stream:016x}")
            if comparison is not None:
                comparison.echo(answer.asked_ns, answer.heard_ns, answer.answered_ns, received_ns)
