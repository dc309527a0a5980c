"""Watches one mesh, from a thread for each of its URLs: connects, polls, starts over when that fails."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Iterator
from typing import Final

from collectors.amqp.options import AmqpOptionsError, read_options
from collectors.config.model import Mesh
from collectors.config.secrets import SecretError
from collectors.polling.context import Outlet
from collectors.polling.poll_metrics import Result
from collectors.polling.schedule import Pace, Stop
from collectors.process.trouble import Trouble
from collectors.process.worker import Worker, joined
from collectors.router.client import Wire, WireError
from collectors.router.exchange import poll_once
from collectors.router.mesh import MeshState, MeshView
from collectors.router.poll import Poll

_log: Final = logging.getLogger("inflight.collect")

CONNECT_SECONDS: Final = 10.0


class MeshCollector:
    """`run` blocks until `stop`; nothing that routers do ends it. `seen` gets each poll's view."""

    def __init__(
        self,
        name: str,
        mesh: Mesh,
        outlet: Outlet,
        stop: Stop,
        seen: Callable[[MeshView], None] = lambda _: None,
    ) -> None:
        self.name = name
        outlet.polls.known(("router", name))
        state = MeshState(name, mesh, outlet, seen)
        self._stop = stop
        self._eyes = [_Eye(name, mesh, number, state, outlet, stop) for number in range(len(mesh.urls))]
        self._workers = [Worker(f"collect-{name}-{n}", eye.run) for n, eye in enumerate(self._eyes)]

    @property
    def tried(self) -> bool:
        """Whether a poll has come to its end, good or bad."""
        return any(eye.tried for eye in self._eyes)

    @property
    def problem(self) -> str | None:
        """Why nothing is seen through a URL any more."""
        return joined(*(worker.problem for worker in self._workers))

    def run(self) -> None:
        for worker in self._workers:
            worker.start()
        self._stop.wait()
        for worker in self._workers:
            worker.join()


class _Eye:
    """One URL: one that hangs must not hold up what is seen through the others."""

    def __init__(
        self, name: str, mesh: Mesh, number: int, state: MeshState, outlet: Outlet, stop: Stop
    ) -> None:
        self.tried = False
        self._name, self._mesh, self._number, self._url = name, mesh, number, mesh.urls[number]
        self._state, self._outlet, self._stop = state, outlet, stop
        self._excused = outlet.excuse()
        self._pace = Pace(mesh.interval / 1e9, time.monotonic())
        self._local: str | None = None  # the router there
        self._trouble = Trouble(_log)

    def run(self) -> None:
        while not self._stop.wait(max(0.0, self._pace.next() - time.monotonic())):
            try:
                self._watch()
            except WireError as error:
                self._failed(error.failure, str(error))
            except (AmqpOptionsError, SecretError) as error:
                self._failed("auth" if isinstance(error, SecretError) else "tls", str(error))
            except Exception:  # noqa: BLE001 -- one mesh's error must not end its watching
                _log.exception("mesh %s: an unexpected error; starting over", self._name)
                self._failed("bad_reply", f"{self._url}: an unexpected error")

    def _watch(self) -> None:
        wire = Wire(
            read_options(self._url, self._mesh.tls, self._mesh.login(self._url)),
            min(CONNECT_SECONDS, max(1.0, self._pace.deadline_seconds)),
            self._stop.socket,
        )
        try:
            tags = itertools.count()
            while not self._stop.is_set():
                poll = self._poll(wire, tags)
                if self._stop.is_set():
                    return
                self._finished(poll)
                while not self._stop.is_set() and time.monotonic() < self._pace.next():
                    for late in wire.pump(self._pace.next()):
                        if isinstance(late, bytes):
                            poll.reply(late, time.monotonic_ns())
        finally:
            wire.close()

    def _poll(self, wire: Wire, tags: Iterator[int]) -> Poll:
        poll = self._state.begin(wire.guess, tags, self._number, self._local)
        started = time.monotonic()
        poll_once(wire, poll, started + self._pace.deadline_seconds, self._stop.is_set)
        if poll.local.whole:  # a look through a spare URL takes no time
            self._outlet.polls.took(("router", self._name), time.monotonic() - started)
        return poll

    def _finished(self, poll: Poll) -> None:
        if poll.local.failure:
            result, text = poll.local.failure
            # What comes late over this connection is told apart by its id, but a router that does not
            # answer at all may do so over another connection.
            raise WireError(result if result in {"timeout", "denied"} else "lost", f"{self._url}: {text}")
        self.tried = True
        self._excused()
        self._local = poll.local.router
        self._state.end(poll, time.time_ns(), time.monotonic_ns(), self._number)
        self._outlet.polls.count(("router", self._name), "ok", poll.faults)
        self._pace.succeeded(time.monotonic())
        self._trouble.over(f"mesh {self._name}: polled again, through {self._url}")

    def _failed(self, result: Result, text: str) -> None:
        if self._excused():
            _log.info("mesh %s: %s, while this process stood still; polled again at once", self._name, text)
            return
        self.tried = True
        self._local = None
        self._state.lost(time.time_ns(), time.monotonic_ns(), text, self._number)
        self._pace.failed(time.monotonic())
        self._trouble.tell(f"mesh {self._name}: {text}")
        self._outlet.polls.count(("router", self._name), result)  # last: what is counted is shown and told
