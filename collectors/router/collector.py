"""Watches one mesh, from a thread for each of its URLs: connects, polls, starts over when that fails."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Final

from collectors.amqp.options import AmqpOptionsError, read_options
from collectors.config.model import Mesh
from collectors.config.secrets import SecretError
from collectors.polling.context import PollContext
from collectors.polling.errors import Failure, PollError
from collectors.polling.poll_metrics import PollResult
from collectors.polling.schedule import Stop
from collectors.polling.target import PolledTarget, log
from collectors.process import wall_clock
from collectors.process.worker import Worker, joined
from collectors.router.client import ManagementClient
from collectors.router.exchange import poll_once
from collectors.router.mesh import MeshState
from collectors.router.mesh_status import MeshStatus
from collectors.router.poll import Poll

CONNECT_SECONDS: Final = 10.0


class MeshCollector:
    """`run` blocks until `stop`, whatever routers do. `on_status` gets each poll's result."""

    def __init__(
        self,
        name: str,
        mesh: Mesh,
        context: PollContext,
        stop: Stop,
        on_status: Callable[[MeshStatus], None] = lambda _: None,
    ) -> None:
        self.name = name
        self._stop = stop
        state = MeshState(name, mesh, context, on_status)
        self._watchers = [_UrlWatcher(name, mesh, n, state, context, stop) for n in range(len(mesh.urls))]
        self._workers = [
            Worker(f"collect-{name}-{n}", watcher.run) for n, watcher in enumerate(self._watchers)
        ]

    @property
    def tried(self) -> bool:
        """Whether a poll has come to its end, good or bad."""
        return any(watcher.tried for watcher in self._watchers)

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


class _UrlWatcher:
    """Polls through one URL: one that hangs must not hold up what is seen through the others."""

    def __init__(
        self, name: str, mesh: Mesh, number: int, state: MeshState, context: PollContext, stop: Stop
    ) -> None:
        self._mesh, self._number, self._url = mesh, number, mesh.urls[number]
        self._state, self._stop = state, stop
        self._target = PolledTarget("router", name, f"mesh {name}", mesh.interval, context)
        self._local: str | None = None  # the router there

    @property
    def tried(self) -> bool:
        return self._target.tried

    def run(self) -> None:
        while not self._target.wait(self._stop):
            try:
                self._watch()
            except PollError as error:
                self._failed(error.failure, str(error))
            except (AmqpOptionsError, SecretError) as error:
                self._failed("auth" if isinstance(error, SecretError) else "tls", str(error))
            except Exception:  # noqa: BLE001 -- one mesh's error must not end its watching
                log.exception("%s: an unexpected error; starting over", self._target.title)
                self._failed("bad_reply", f"{self._url}: an unexpected error")

    def _watch(self) -> None:
        client = ManagementClient(
            read_options(self._url, self._mesh.tls, self._mesh.login(self._url)),
            min(CONNECT_SECONDS, max(1.0, self._target.deadline_seconds)),
            self._stop.socket,
        )
        try:
            tags = itertools.count()
            while not self._stop.is_set():
                poll = self._poll(client, tags)
                if self._stop.is_set():
                    return
                self._finished(poll)
                while not self._stop.is_set() and time.monotonic() < self._target.due_seconds:
                    for late in client.pump(self._target.due_seconds):
                        if isinstance(late, bytes):
                            poll.reply(late, time.monotonic_ns())
        finally:
            client.close()

    def _poll(self, client: ManagementClient, tags: Iterator[int]) -> Poll:
        poll = self._state.begin(client.guess, tags, self._number, self._local)
        started = time.monotonic()
        poll_once(client, poll, started + self._target.deadline_seconds, self._stop.is_set)
        if poll.local.whole:  # a look through a spare URL takes no time
            self._target.took(time.monotonic() - started)
        return poll

    def _finished(self, poll: Poll) -> None:
        if poll.local.failure:
            result, text = poll.local.failure
            # What comes late over this connection is told apart by its id, but a router that does not
            # answer at all may do so over another connection.
            failure: Failure = result if result in {"timeout", "denied"} else "lost"
            raise PollError(failure, f"{self._url}: {text}")
        self._target.answered()
        self._local = poll.local.router
        self._state.end(poll, wall_clock.now_ns(), time.monotonic_ns(), self._number)
        self._target.succeeded(poll.faults, f", through {self._url}")

    def _failed(self, result: PollResult, text: str) -> None:
        if self._target.failed_by_standstill(text):
            return
        self._local = None
        self._state.lost(wall_clock.now_ns(), time.monotonic_ns(), text, self._number)
        self._target.failed(result, text)
