"""Watches one mesh from a thread of its own: connects, polls, shows, and starts over when that fails."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Iterator
from typing import Final

from collectors import amqp
from collectors.config import Mesh
from collectors.outlet import Outlet
from collectors.pace import Pace, Stop
from collectors.polls import Result
from collectors.router.mesh import MeshState, MeshView
from collectors.router.poll import Poll
from collectors.router.session import poll_once
from collectors.router.wire import Wire, WireError
from collectors.secrets import SecretError
from collectors.trouble import Trouble

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
        self._mesh = mesh
        self._outlet = outlet
        self._stop = stop
        self._state = MeshState(name, mesh, outlet, seen)
        self._pace = Pace(mesh.interval / 1e9, time.monotonic())
        self._trouble = Trouble(_log)
        self.tried = False  # whether a poll has come to its end, good or bad

    def run(self) -> None:
        self._outlet.polls.known(("router", self.name))
        for url in itertools.cycle(self._mesh.urls):
            if self._stop.wait(max(0.0, self._pace.next() - time.monotonic())):
                return
            try:
                self._watch(url)
            except WireError as error:
                self._failed(error.failure, str(error))
            except (amqp.AmqpOptionsError, SecretError) as error:
                self._failed("auth" if isinstance(error, SecretError) else "tls", str(error))
            except Exception:  # noqa: BLE001 -- one mesh's error must not end its watching
                _log.exception("mesh %s: an unexpected error; starting over", self.name)
                self._failed("bad_reply", "an unexpected error")

    def _watch(self, url: str) -> None:
        wire = Wire(
            amqp.options(url, self._mesh.tls, self._mesh.sasl),
            min(CONNECT_SECONDS, max(1.0, self._pace.deadline_seconds)),
            self._stop.socket,
        )
        try:
            tags = itertools.count()
            while not self._stop.is_set():
                poll = self._poll(wire, tags)
                if self._stop.is_set():
                    return
                self._finished(url, poll)
                while not self._stop.is_set() and time.monotonic() < self._pace.next():
                    for late in wire.pump(self._pace.next()):
                        if isinstance(late, bytes):
                            poll.reply(late, time.monotonic_ns())
        finally:
            wire.close()

    def _poll(self, wire: Wire, tags: Iterator[int]) -> Poll:
        poll = self._state.begin(wire.guess, tags)
        started = time.monotonic()
        poll_once(wire, poll, started + self._pace.deadline_seconds, self._stop.is_set)
        self._outlet.polls.took(("router", self.name), time.monotonic() - started)
        return poll

    def _finished(self, url: str, poll: Poll) -> None:
        if poll.local.failure:
            result, text = poll.local.failure
            # What comes late over this connection is told apart by its id, but a router that does not
            # answer at all may do so over another connection or URL.
            raise WireError(result if result in {"timeout", "denied"} else "lost", f"{url}: {text}")
        self.tried = True
        self._state.end(poll, time.time_ns(), time.monotonic_ns())
        self._outlet.polls.count(("router", self.name), "ok", poll.faults)
        self._pace.succeeded(time.monotonic())
        self._trouble.over(f"mesh {self.name}: polled again, through {url}")

    def _failed(self, result: Result, text: str) -> None:
        self.tried = True
        self._outlet.polls.count(("router", self.name), result)
        self._state.lost(time.time_ns(), time.monotonic_ns(), text)
        self._pace.failed(time.monotonic())
        self._trouble.tell(f"mesh {self.name}: {text}")
