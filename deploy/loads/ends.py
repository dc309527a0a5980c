"""The ends of loads in one process: those of a probe, of the kinds that each load needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from collectors.config.paths import Path
from collectors.probe.ends import Ends
from collectors.probe.engine.loop import Loop
from collectors.probe.receiver import Receiver
from collectors.probe.sender import Sender
from collectors.probe.transport import Connection
from deploy.loads.paths import Task, numbered
from deploy.loads.receivers import NoticingReceiver, PacedReceiver
from deploy.loads.senders import AskingSender, RelayingSender, WindowedSender
from deploy.loads.tokens import Token, Tokens

_GRANT_SECONDS: Final = 0.01
_MISSING_SECONDS: Final = 1.0


class LoadEnds(Ends):
    """As a probe's, with windows, partners, tokens and rates of reading."""

    def __init__(self, *parts: Any, tasks: Mapping[str, Task], **more: Any) -> None:
        self._tasks = tasks
        self._asking: dict[str, AskingSender] = {}  # by path
        self._relaying: dict[tuple[str, str], RelayingSender] = {}  # by path and inbox
        self._paced: list[PacedReceiver] = []
        self._begun: set[str] = set()  # relays whose tokens are on their way
        self.tokens: dict[str, Tokens] = {}  # by path
        super().__init__(*parts, **more)
        for name in {path for path, _ in self._relaying}:
            self.tokens[name] = self._own_tokens(name)

    # -- making them

    def new_sender(self, loop: Loop, connection: Connection, path: Path, *parts: Any, **more: Any) -> Sender:
        task = self._tasks[path.name]
        if task.relay is not None:
            relaying = RelayingSender(
                loop,
                connection,
                path,
                *parts,
                others=lambda: self._others(path),
                hold_ns=task.relay.hold or 0,
                **more,
            )
            self._relaying[path.name, path.receive_address] = relaying
            return relaying
        if task.window is None:
            return super().new_sender(loop, connection, path, *parts, **more)
        if task.answered:
            asking = AskingSender(
                loop,
                connection,
                path,
                *parts,
                window=task.window,
                patience_ns=path.rules.settle_ns,
                **more,
            )
            self._asking[path.name] = asking
            return asking
        return WindowedSender(loop, connection, path, *parts, window=task.window, **more)

    def alone(self, path: Path, name: str) -> str:
        """Each end is a client, with a connection of its own."""
        return f"{path.name} {name}"

    def new_receiver(self, connection: Connection, path: Path, *parts: Any, **more: Any) -> Receiver:
        task = self._tasks[path.name]
        if path.reads_per_second:
            self._paced.append(PacedReceiver(connection, path, *parts, **more))
            return self._paced[-1]
        if task.answered and task.window is not None:
            return NoticingReceiver(connection, path, *parts, arrived=self._answered(path.name), **more)
        if task.relay is not None:
            return NoticingReceiver(connection, path, *parts, arrived=self._token_came(path), **more)
        return super().new_receiver(connection, path, *parts, **more)

    @staticmethod
    def _others(path: Path) -> list[str]:
        inboxes = [numbered(path.address, number) for number in range(path.senders)]
        return [inbox for inbox in inboxes if inbox != path.receive_address]

    def _answered(self, name: str) -> Callable[[int, memoryview, int], None]:
        def arrived(number: int, _body: memoryview, _at: int) -> None:
            self._asking[name].answered(number)

        return arrived

    # -- tokens

    def _own_tokens(self, name: str) -> Tokens:
        relay, path = self._tasks[name].relay, self._tasks[name].path
        if relay is None:
            raise RuntimeError(f"{name} is no relay")
        here = {
            number for number in range(path.senders) if (name, self._inbox(path, number)) in self._relaying
        }
        own = [number for number in range(relay.tokens) if number % relay.clients in here]
        return Tokens(relay.tokens, own, relay.count, path.rules.settle_ns)

    @staticmethod
    def _inbox(path: Path, number: int) -> str:
        return numbered(path.address, number)

    def _token_came(self, path: Path) -> Callable[[int, memoryview, int], None]:
        def arrived(_number: int, body: memoryview, at: int) -> None:
            now = self.clock.now_ns()
            following = self.tokens[path.name].arrived(Token.read(body, at), now)
            if following is not None:
                self._relaying[path.name, path.receive_address].pass_on(following, now)

        return arrived

    def _begin_tokens(self) -> None:
        """Sends the first tokens once all clients of this process have begun, and those that went missing."""
        if self._over:
            return
        self.loop.call_in(_MISSING_SECONDS if self._begun == set(self.tokens) else 0.02, self._begin_tokens)
        for name, tokens in self.tokens.items():
            now = self.clock.now_ns()
            if name in self._begun:
                for token in tokens.missing(now):
                    self._home(name, token).pass_on(token, now)
            elif all(one.started for (path, _), one in self._relaying.items() if path == name):
                self._begun.add(name)
                for token in tokens.begin(now):
                    self._home(name, token).pass_on(token, now)

    def _home(self, name: str, token: Token) -> RelayingSender:
        path = self._tasks[name].path
        return self._relaying[name, self._inbox(path, token.number % path.senders)]

    def token_over(self, name: str, token: int) -> None:
        """A token came to its end, here or in another process; with the last one the relay does."""
        if name not in self.tokens:
            return
        self.tokens[name].over(token)
        if self.tokens[name].all_over:
            for (path, _), sender in self._relaying.items():
                if path == name:
                    sender.stop()

    # -- their life

    def begin(self) -> None:
        super().begin()
        if self._paced:
            self._grant()
        if self._relaying:
            self._begin_tokens()

    def _grant(self) -> None:
        if self._over:
            return
        self.loop.call_in(_GRANT_SECONDS, self._grant)
        for receiver in self._paced:
            receiver.grant()
