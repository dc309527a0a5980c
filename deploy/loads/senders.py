"""Senders of loads: with a bound on what is out, and those that pass tokens on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, Final

from collectors.config.paths import Path
from collectors.config.units import Step
from collectors.contract.records import Outcome, flow_hash
from collectors.probe.colours import SendingColour
from collectors.probe.engine.loop import Loop
from collectors.probe.measure.clock import RunClock
from collectors.probe.measure.guard import RateCap
from collectors.probe.measure.schedule import Schedule
from collectors.probe.message import Body, Properties, Template, encode_body
from collectors.probe.sender import Sender
from collectors.probe.transport import Connection
from deploy.loads.tokens import Token
from deploy.loads.windows import AnswerWindow, OutcomeWindow

_NEVER: Final = 1 << 62
_REFUSED: Final = frozenset(("rejected", "released", "modified"))


class WindowedSender(Sender):
    """Has at most `window` messages out that have no outcome."""

    def __init__(self, loop: Loop, *parts: Any, window: int, cap: RateCap, **more: Any) -> None:  # noqa: ARG002
        super().__init__(loop, *parts, cap=OutcomeWindow(window, lambda: self.unsettled), **more)

    def on_outcome(self, number: int, outcome: Outcome) -> None:
        super().on_outcome(number, outcome)
        if self.started and not self.finished:
            self._loop.before_waiting(self.send_due)


class AskingSender(Sender):
    """Has at most `window` messages out that are not answered."""

    def __init__(
        self,
        loop: Loop,
        *parts: Any,
        window: int,
        patience_ns: int,
        clock: RunClock,
        cap: RateCap,  # noqa: ARG002 -- the window is its cap
        **more: Any,
    ) -> None:
        self.window: Final = AnswerWindow(window, lambda: self.ledger.next_seq, patience_ns)
        super().__init__(loop, *parts, clock=clock, cap=self.window, **more)

    def answered(self, number: int) -> None:
        """The answer to this one came."""
        self._closed((number,))

    def on_outcome(self, number: int, outcome: Outcome) -> None:
        super().on_outcome(number, outcome)
        if outcome in _REFUSED:
            self._closed((number,))

    def on_lost(self, reason: str, numbers: Collection[int]) -> None:
        super().on_lost(reason, numbers)
        self._closed(numbers)

    def _closed(self, numbers: Collection[int]) -> None:
        closed = self.window.closed(numbers, self._clock.now_ns())
        if closed and self.started and not self.finished:
            self._loop.before_waiting(self.send_due)


class TokenSchedule(Schedule):
    """Wants a message sent for each token that came, when it has been held for long enough."""

    def __init__(self) -> None:
        super().__init__((Step(1.0, 1.0, None),))
        self.next_ns = _NEVER - 1
        self.start_ns: Callable[[], int] = lambda: 0  # of its sender
        self.held: Final[deque[tuple[int, Token]]] = deque()  # when due, by the clock
        self.going: Final[deque[Token]] = deque()  # due, and not sent yet

    def due(self, until_ns: int, most: int) -> list[int]:
        times: list[int] = []
        start_ns = self.start_ns()
        while not self.done and self.held and self.held[0][0] - start_ns <= until_ns and len(times) < most:
            due_ns, token = self.held.popleft()
            times.append(due_ns - start_ns)
            self.going.append(token)
        return times


class _TokenTemplate(Template):
    """A message to one client, into which the next token is written."""

    def __init__(self, message: bytearray, body_bytes: int, going: deque[Token]) -> None:
        super().__init__(message, body_bytes)
        self._going, self._body_at = going, len(message) - body_bytes

    def patch(self, sequence: int, intended_ns: int, sent_ns: int) -> None:
        super().patch(sequence, intended_ns, sent_ns)
        self._going.popleft().write(self.message, self._body_at)


class RelayingSender(Sender):
    """Passes tokens on, each to another client by chance; its links name no address, its messages do."""

    def __init__(
        self,
        loop: Loop,
        connection: Connection,
        path: Path,
        schedule: Schedule,  # noqa: ARG002 -- tokens are its schedule
        *parts: Any,
        others: Callable[[], list[str]],
        hold_ns: int,
        **more: Any,
    ) -> None:
        """`others` are the addresses of the other clients."""
        self._tokens, self._others, self._hold_ns = TokenSchedule(), others, hold_ns
        super().__init__(loop, connection, path, self._tokens, *parts, **more)
        self._tokens.start_ns = lambda: self.backlog.start_ns

    def linked_to(self, path: Path) -> Path:
        return replace(path, address="")

    def pass_on(self, token: Token, now_ns: int) -> None:
        """Sends it when it has been held for as long as tokens are."""
        self._tokens.held.append((now_ns + self._hold_ns, token))
        if not self._hold_ns:
            self._loop.before_waiting(self.send_due)
        else:
            self._loop.call_in(self._hold_ns / 1e9, self.send_due)

    def stood_still(self) -> None:
        """Tokens that came wait for it: they are no schedule that goes on without it."""

    def start(self) -> None:
        super().start()
        if self._path.duration_ns is not None:
            self._loop.call_in(self._path.duration_ns / 1e9, self.stop)

    def _make_templates(self, colour: SendingColour) -> None:
        flow = flow_hash(self._path.mesh, self._path.address)
        body = encode_body(
            Body(self._warmup, flow, self._run, 0, 0, 0, self._clock.boot, self._clock.epoch_ns),
            self._path.size[0],
        )
        colour.templates = []
        for address in self._others():
            properties = Properties(
                ttl_ns=self._path.ttl_ns,
                durable=self._path.durable,
                priority=self._path.priority,
                to=address,
            )
            template = _TokenTemplate(colour.link.encode(body, properties), len(body), self._tokens.going)
            colour.templates.append((template, colour.link.prepare(template.message)))
        self._longest_bytes = max(len(template.message) for template, _ in colour.templates)
