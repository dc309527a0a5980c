"""The load of streams: as many processes as the asked rate needs, each a probe whose records come here."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, Final

import yaml

from collectors.config.paths import resolve
from collectors.process.worker import Worker, joined
from deploy import control_socket
from deploy.embedded.supervise.process import Process, ProcessSpec
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.experiment import frames
from deploy.experiment.load import Figures, Order
from deploy.experiment.shares import Share, shared, wanted

_MODULE: Final = "deploy.experiment.stream_worker"
_START_SECONDS: Final = 60.0
_BEGIN_SECONDS: Final = 60.0
_END_SECONDS: Final = 720.0  # a queue that is still being emptied
_CONNECT_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.05
_BUSY: Final = 0.95  # of a core: a process that has had as much could not do more
_BUSY_SPAN_NS: Final = 3_000_000_000  # over so long


class Feeder:
    """One process of the load, as its run sees it."""

    def __init__(
        self, supervisor: Supervisor, name: str, folder: Path, take: Callable[[bytes, str], None]
    ) -> None:
        self.name = name
        self.status: dict[str, Any] = {}
        self.was_busy = False
        self._span: tuple[int, int] | None = None  # when it had had how much of a core
        self._take, self._supervisor = take, supervisor
        self._socket = folder / name
        self._out: IO[bytes] | None = None
        self._reader: Worker | None = None
        self._process: Process | None = None

    def start(self, order: dict[str, Any]) -> None:
        """Return when it has its order and is ready to begin."""
        with control_socket.listen(self._socket) as server:
            server.settimeout(_CONNECT_SECONDS)
            argv: list[str | Path] = [sys.executable, "-m", _MODULE, self._socket]
            accepting = Worker(f"{self.name} comes", lambda: self._accept(server, order), again=False)
            accepting.start()
            ready = lambda: bool(self.status)  # noqa: E731 -- a condition
            spec = ProcessSpec(self.name, argv, ready, timeout_seconds=_START_SECONDS)
            self._process = self._supervisor.start(spec)
            accepting.join()

    def _accept(self, server: socket.socket, order: dict[str, Any]) -> None:
        connection, _ = server.accept()
        connection.settimeout(None)
        self._out = connection.makefile("wb")
        self.say(json.dumps(order))
        self._reader = Worker(self.name, lambda: self._read(connection), again=False)
        self._reader.start()

    def say(self, line: str) -> None:
        if self._out is None:
            raise RuntimeError(f"{self.name} is not there yet")
        try:
            self._out.write(line.encode() + b"\n")
            self._out.flush()
        except OSError:
            pass  # it has ended, which `problem` tells

    def _read(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as file:
            for kind, name, data in frames.read(file):
                if kind == frames.RECORD:
                    self._take(data, name)
                else:
                    self._look(json.loads(data))

    def _look(self, status: dict[str, Any]) -> None:
        now = status.get("at_ns", 0), status.get("busy_ns", 0)
        if now[1] and self._span is None:
            self._span = now
        elif self._span is not None and now[0] - self._span[0] >= _BUSY_SPAN_NS:
            self.was_busy |= (now[1] - self._span[1]) / (now[0] - self._span[0]) >= _BUSY
            self._span = now
        self.status = status

    def end(self) -> None:
        """Let go of a process that has told all."""
        if self._process is not None:
            self._process.stop()

    @property
    def over(self) -> bool:
        return self._reader is None or self._reader.ended.is_set()

    def problem(self) -> str | None:
        told = self.status.get("problem") or (self._reader.problem if self._reader else None)
        if told:
            return f"{self.name}: {told}"
        if self.over and not self.status.get("ended"):
            return f"{self.name} has ended: see {self._supervisor.log_path(self.name)}"
        return None


class StreamLoad:
    """Senders and receivers of all paths; what they tell goes to the run's own accounting."""

    def __init__(self, order: Order) -> None:
        self._order = order
        paths = resolve(order.config)
        rates: dict[str, float] = {}
        for path in paths.values():
            rates[path.flow] = max(rates.get(path.flow, 0.0), path.peak_rate)
        processes = order.document.get("processes") or wanted(rates, os.cpu_count() or 1)
        self.shares: list[Share] = shared(rates, processes)
        self._feeders = [
            Feeder(order.supervisor, f"load-{number}", order.folder, order.take)
            for number in range(1, len(self.shares) + 1)
        ]
        self._counted = all(path.count or path.duration_ns for path in paths.values())

    def start(self) -> None:
        config = self._order.folder / "load.yaml"
        config.write_text(yaml.safe_dump(self._order.made, sort_keys=False, allow_unicode=True))
        orders = [
            {"config": str(config), "send": share.send, "receive": share.receive} for share in self.shares
        ]
        with ThreadPoolExecutor(len(orders)) as pool:
            list(pool.map(Feeder.start, self._feeders, orders))  # raises what one of them raises

    def begin(self) -> tuple[int, int]:
        """Receivers that stand alone go first: a sender waits for those of its own process only."""
        alone = [f for f, share in zip(self._feeders, self.shares, strict=True) if not share.send]
        others = [feeder for feeder in self._feeders if feeder not in alone]
        for feeder in alone:
            feeder.say("begin")
        self._wait(lambda: all(self._is_attached(feeder) for feeder in alone), "receivers to be attached")
        for feeder in others:
            feeder.say("begin")
        self._wait(lambda: all(self._is_sending(feeder) for feeder in others), "senders to begin")
        started = [feeder.status["started_ns"] for feeder in others]
        return min(first for first, _ in started), max(last for _, last in started)

    def _is_attached(self, feeder: Feeder) -> bool:
        return "not_ready" in feeder.status and feeder.status["not_ready"] is None

    def _is_sending(self, feeder: Feeder) -> bool:
        return bool(feeder.status.get("started_ns")) and self._is_attached(feeder)

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _BEGIN_SECONDS
        while not condition():
            self._order.supervisor.give_up_if_asked()
            if (problem := self.problem()) is not None:
                raise Problem(problem)
            if time.monotonic() > deadline:
                why = joined(*(feeder.status.get("not_ready") for feeder in self._feeders))
                raise Problem(
                    f"waited {_BEGIN_SECONDS:g} s in vain for {what}: {why or 'no reason is known'}"
                )
            time.sleep(_LOOK_SECONDS)

    def problem(self) -> str | None:
        return joined(*(feeder.problem() for feeder in self._feeders))

    def progress(self) -> int:
        return sum(
            feeder.status.get("sent", 0) + feeder.status.get("received", 0) for feeder in self._feeders
        )

    @property
    def finished(self) -> bool:
        return self._counted and all(feeder.status.get("finished") for feeder in self._feeders)

    def stop(self) -> None:
        """Receivers that stand alone go last, when what their senders sent has come or is late."""
        alone = [f for f, share in zip(self._feeders, self.shares, strict=True) if not share.send]
        others = [feeder for feeder in self._feeders if feeder not in alone]
        for feeder in others:
            feeder.say("stop")
        self._wait_for_end(others)
        if alone:
            self._wait_for_last(others, alone)
            for feeder in alone:
                feeder.say("stop")
            self._wait_for_end(alone)

    def _wait_for_end(self, feeders: list[Feeder]) -> None:
        deadline = time.monotonic() + _END_SECONDS
        while not all(feeder.over for feeder in feeders):
            self._order.supervisor.give_up_if_asked()
            if time.monotonic() > deadline:
                raise Problem(f"the load did not end within {_END_SECONDS:g} s")
            time.sleep(_LOOK_SECONDS)
        if (problem := joined(*(feeder.problem() for feeder in feeders))) is not None:
            raise Problem(problem)
        for feeder in feeders:
            feeder.end()

    def _wait_for_last(self, senders: list[Feeder], receivers: list[Feeder]) -> None:
        settle_seconds = max(path.rules.settle_ns for path in resolve(self._order.config).values()) / 1e9
        expected = sum(one.status.get("sent", 0) - one.status.get("refused", 0) for one in senders)
        came, moved_at = -1, time.monotonic()
        while time.monotonic() - moved_at < settle_seconds:
            self._order.supervisor.give_up_if_asked()
            now = sum(one.status.get("received", 0) for one in receivers)
            if now >= expected:
                return
            if now != came:
                came, moved_at = now, time.monotonic()
            time.sleep(_LOOK_SECONDS)

    def unbounded(self) -> list[str]:
        paths = resolve(self._order.config)
        return [name for name, path in paths.items() if path.rate[0].start == 0]

    def processes(self) -> int:
        return sum(bool(share.send) for share in self.shares)

    def figures(self, from_ns: int, to_ns: int) -> Figures | None:  # noqa: ARG002 -- the interface
        return None

    def at_ceiling(self) -> bool:
        return any(feeder.was_busy for feeder in self._feeders)
