"""One generator process: some of the ends of a description's loads, and partners that answer.

    python -m deploy.loads.worker NUMBER

It reads the description as the first line of its standard input, then what its parent tells it, a line of
JSON each: ["go"], ["over", path, token], ["stop"], ["end"]. Where its parent is gone, it ends. It writes
frames.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from typing import Any, Final

from collectors.config.model import Endpoint
from collectors.kafka.in_process_sink import InProcessSink
from collectors.probe.engine.amqp_transport import AmqpTransport
from collectors.probe.engine.loop import Loop
from collectors.probe.prober import Prober, Settings
from deploy.loads import frames
from deploy.loads.ends import LoadEnds
from deploy.loads.model import Description, StompEndpoint
from deploy.loads.partners import Partner
from deploy.loads.paths import Share, Task, shares, tasks
from deploy.loads.senders import AskingSender
from deploy.logs import setup

_TELL_SECONDS: Final = 0.1
_SPAN_SECONDS: Final = 2.0
_LINGER_SECONDS: Final = 0.5  # the parent has waited for what is on its way


class Generator:
    """The ends of one process, from `start` to `end`."""

    def __init__(self, description: Description, share: Share, found: dict[str, Task], sink: Any) -> None:
        self._go = threading.Event()
        self._cpu_at_go = 0.0
        self._span = 0.0, 0.0  # when it began, and what CPU had been used then
        self._share = 0.0
        self._flows: defaultdict[str, list[str]] = defaultdict(list)  # names of paths
        for name, task in found.items():
            self._flows[task.path.flow].append(name)
        settings = Settings(
            site="loads",
            linger_seconds=_LINGER_SECONDS,
            compare_clocks=False,
            may_send=self._go.is_set,
        )
        paths = [spec.paths[0] for spec in share.senders]
        self.prober: Final = Prober(
            paths,
            [spec.path for spec in share.receivers],
            description.endpoints,  # type: ignore[arg-type]  # a transport reads its own kind of them
            sink,
            settings,
            transport=functools.partial(_transport, description, found),
            ends=functools.partial(LoadEnds, tasks=found),
            specs=(share.senders, share.receivers),
        )
        self._partners = [
            Partner(self.prober.loop, end, path)
            for path in share.answers
            if isinstance(end := description.endpoints[path.target], Endpoint)
        ]
        self._told: set[tuple[str, int]] = set()

    def start(self) -> None:
        self.prober.start()
        for partner in self._partners:
            partner.start()

    def go(self) -> None:
        self._cpu_at_go = time.process_time()
        self._span = time.monotonic(), self._cpu_at_go
        self._go.set()

    def over(self, path: str, token: int) -> None:
        """A token came to its end, in this process or in another one."""
        self.prober.loop.post(lambda: self._ends.token_over(path, token))

    def end(self) -> None:
        """Ends all; blocks until then."""
        self.prober.stop()
        for partner in self._partners:
            partner.stop()

    @property
    def _ends(self) -> LoadEnds:
        ends = self.prober.ends
        if not isinstance(ends, LoadEnds):
            raise TypeError("these ends are of no load")
        return ends

    def not_ready(self) -> str | None:
        """Returns why it is not ready to go; None where it is."""
        for partner in self._partners:
            if not partner.ready:
                return f"a partner has no link: {partner.problem}"
        return self.prober.not_ready()

    def stand(self) -> dict[str, Any]:
        """Returns how it stands, for its parent."""
        prober = self.prober
        paths: defaultdict[str, Counter[str]] = defaultdict(Counter)
        received_by: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for end in prober.senders:
            for name in self._flows[end.path.flow]:
                counts = paths[name]
                counts["sent"] += end.sender.sent
                counts["refused"] += end.sender.refused
                counts["unsettled"] += end.sender.unsettled
                counts["unsent"] += end.sender.backlog.unsent
                if isinstance(end.sender, AskingSender):
                    counts["unanswered"] += end.sender.window.unanswered
        for receiver in prober.receivers:
            paths[receiver.path.name]["received"] += receiver.received
            received_by[receiver.path.name][receiver.name] = receiver.received
            paths[receiver.path.name]["foreign"] += receiver.foreign
        for name, tokens in self._ends.tokens.items():
            paths[name]["remade"] += tokens.remade
            paths[name]["stale"] += tokens.stale
        return {
            "not_ready": self.not_ready(),
            "failure": prober.failure,
            "finished": all(end.sender.finished for end in prober.senders),
            "paths": {name: dict(counts) for name, counts in paths.items()},
            "received_by": received_by,
            "answers_dropped": sum(partner.dropped for partner in self._partners),
            "retired": self._newly_retired(),
            "stood_still_seconds": prober.stood_still_seconds,
            "cpu_seconds": time.process_time() - self._cpu_at_go,
            "busiest": self._busiest(),
        }

    def _busiest(self) -> float:
        """Returns the share of a CPU that it used in the busiest seconds of its sending."""
        now, cpu = time.monotonic(), time.process_time()
        began, used = self._span
        if self._go.is_set() and now - began >= _SPAN_SECONDS:
            self._share = max(self._share, (cpu - used) / (now - began))
            self._span = now, cpu
        return round(self._share, 3)

    def _newly_retired(self) -> list[tuple[str, int]]:
        all_retired = {
            (name, token) for name, tokens in self._ends.tokens.items() for token in tokens.retired.copy()
        }
        new = sorted(all_retired - self._told)
        self._told |= all_retired
        return new


def _transport(description: Description, found: dict[str, Task], loop: Loop) -> Any:
    if any(isinstance(end, StompEndpoint) for end in description.endpoints.values()):
        from deploy.loads.transports import Transports  # noqa: PLC0415 -- stomp.py is an extra

        headers = {name: getattr(description.loads[task.load], "headers", {}) for name, task in found.items()}
        return Transports(loop, headers)
    return AmqpTransport(loop)


def run(number: int) -> None:
    """Does what the parent says, until `end` or the end of the standard input."""
    out, lock = sys.stdout.buffer, threading.Lock()
    orders = _Orders()
    first: list[Any] = []
    while not first:
        if not (data := os.read(0, 65_536)):
            return  # the parent is gone
        first = orders.take(data)
    description = Description.model_validate(first.pop(0))
    found = tasks(description)

    def take(record: bytes, key: str) -> None:
        with lock, contextlib.suppress(BrokenPipeError):  # where the parent is gone, its orders end, too
            frames.write_record(out, key, record)
            out.flush()

    sink = InProcessSink(take)
    generator = Generator(description, shares(found, description.processes)[number], found, sink)

    def tell() -> None:
        stand = generator.stand()
        with lock, contextlib.suppress(BrokenPipeError):
            frames.write_stand(out, stand)
            out.flush()

    generator.start()
    told_at = 0.0
    while not generator.prober.ended.is_set():
        if time.monotonic() - told_at > _TELL_SECONDS:
            tell()
            told_at = time.monotonic()
        if not select.select([0], [], [], _TELL_SECONDS)[0]:
            continue
        data = os.read(0, 65_536)
        if not data or _obey(generator, orders.take(data)):
            break
    generator.end()
    sink.close()
    tell()


class _Orders:
    """Lines of JSON from the parent."""

    def __init__(self) -> None:
        self._rest = b""

    def take(self, data: bytes) -> list[Any]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]


def _obey(generator: Generator, orders: list[Any]) -> bool:
    """Does what its parent says; returns whether that was to end."""
    for order in orders:
        match order:
            case ["go"]:
                generator.go()
            case ["over", path, token]:
                generator.over(path, token)
            case ["stop"]:
                generator.prober.stop_sending()
            case ["end"]:
                return True
    return False


if __name__ == "__main__":
    setup("warning")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, too, which ends this in order
    run(int(sys.argv[1]))
