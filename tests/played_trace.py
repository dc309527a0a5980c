"""A trace without sockets: its requests answered by a script, on a clock of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from proton import Message

from collectors.router import management, schema
from deploy.trace import result
from deploy.trace.tracer import Plan, Trace

SECOND = 1_000_000_000
MS = 1_000_000
Script = Callable[[Message], list[Message | bytes]]


class Played:
    """A trace with a clock of its own; each answer takes `delay_ns`, 10 ms unless said."""

    def __init__(self, script: Script, address: str | None = None, **plan: Any) -> None:
        told = {"rounds": 3, "interval_ns": SECOND, "timeout_ns": 2 * SECOND, "rate": 50.0, **plan}
        self.trace = Trace(Plan(address, **told), schema.DISPATCH)
        self.script = script
        self.now_ns = 5 * SECOND
        self.asked: list[tuple[int, Message]] = []
        self.delay_ns: Callable[[Message], int] = lambda _request: 10 * MS
        self._coming: list[tuple[int, int, bytes]] = []

    def play(self) -> Played:
        for _ in self.steps():
            pass
        return self

    def steps(self) -> Iterator[int]:
        while not self.trace.over(self.now_ns):
            assert len(self.asked) < 5_000, "it does not end"
            taken = self.trace.take(self.now_ns, 100)
            if taken is not None:
                self._send(*taken)
            wake = self.trace.next_wake_ns(self.now_ns)
            due = min([at for at, _, _ in self._coming] + [max(wake, self.now_ns + MS)])
            self.now_ns = max(self.now_ns, min(due, self.now_ns + 100 * MS))
            for come in sorted(come for come in self._coming if come[0] <= self.now_ns):
                self._coming.remove(come)
                self.trace.reply(come[2], self.now_ns)
            yield self.now_ns

    def _send(self, tag: str, request: management.Request) -> None:
        message = Message()
        message.decode(management.encode(request, tag, "reply"))
        self.asked.append((self.now_ns, message))
        at_ns = self.now_ns + self.delay_ns(message)
        for answer in self.script(message):
            data = answer if isinstance(answer, bytes) else bytes(answer.encode())
            self._coming.append((at_ns, len(self.asked), data))

    def rows(self) -> dict[str, result.Row]:
        return {row["router"]: row for row in result.rows(self.trace, self.now_ns)}

    def findings(self) -> list[str]:
        return result.findings(self.trace, result.rows(self.trace, self.now_ns))
