"""A receiver end: writes a row for each message, and makes records of the rows once a second."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from typing import Any, Final

import cproton as c
import numpy as np
from cproton_ffi import ffi, lib
from proton.reactor import DurableSubscription, Selector

from collectors.config.paths import Path
from collectors.contract.records import Clock, flow_hash
from collectors.probe.durable.row_store import RowStore
from collectors.probe.engine.connection import Connection
from collectors.probe.measure.arrivals import FLAG_REDELIVERED, Arrivals
from collectors.probe.measure.clock import Comparison, RunClock
from collectors.probe.measure.link_uptime import Attachment
from collectors.probe.measure.standstill import Watch
from collectors.probe.message import (
    COUNTED_BYTES,
    MAGIC,
    RUN_AT,
    decode_body,
    find_body,
    flow_prefix,
    reply_address,
    trace_of,
)
from collectors.probe.publisher import Publisher

_LARGEST_BYTES: Final = 1 << 26
_MAX_HEADS: Final = 256
_MAX_ROUTES: Final = 255
_HELLO_BYTES: Final = 64


class Receiver:
    """One link; whatever comes on it is accepted (or, if it is none of ours, released on request)."""

    measures = True

    def __init__(
        self,
        connection: Connection,
        path: Path,
        publisher: Publisher,
        *,
        name: str,
        run: int,
        clock: RunClock,
        store: RowStore,
        read_ns: Callable[[], int],
        comparisons: dict[str, Comparison],
        heard: Callable[[str, int], object] = lambda _stream, _highest: None,
        answers_to: Callable[[str, str], None] = lambda _stream, _address: None,
        moved: Callable[[], None] = lambda: None,
    ) -> None:
        """A path without a receive address gets one from its peer: that is where round trips end.

        `moved` is called when the peer has given it another one: messages must ask for echoes to there.
        By `read_ns` all that had come is read: no later time is measured.
        `comparisons` is shared by a process's receivers of the flow, which have one clock: competing ones may
        take turns so that each hears one sender only, and yet a window asks each of them for every clock.
        """
        self.connection = connection
        self.path: Final = path
        self.name: Final = name
        self.dynamic_address: str | None = None
        self._publisher = publisher
        self._clock, self._run, self._store, self._read_ns = clock, run, store, read_ns
        self._heard, self._answers_to, self._moved = heard, answers_to, moved
        self._attachment = Attachment(f"path {path.name}: receiver {name}", clock.now_ns())
        self._watch = Watch(clock.now_ns())
        self._link: Any = None
        self._attachments = itertools.count()
        flow = flow_hash(path.mesh, path.address)
        self._prefix = flow_prefix(flow, warmup=False)
        self._warmup_prefix = flow_prefix(flow, warmup=True)
        self._arrivals = Arrivals()
        self._heads: dict[bytes, tuple[int, int]] = {}  # what stands before a body: flags, route
        self._last_head_bytes = 0
        self._routes: list[str] = []
        self._comparisons = comparisons
        self._known_runs: dict[bytes, str] = {}
        self._want_reply: set[bytes] = set()
        self._buffer = bytearray(1 << 16)
        self._buffer_c = ffi.from_buffer(self._buffer)
        self._view = memoryview(self._buffer)
        self._over = False
        self._foreign = 0  # since the last publication
        self.received = 0
        self.foreign = 0
        self.highest: dict[str, int] = {}
        self.last_received_ns = 0

    # -- the link

    @property
    def link_up(self) -> bool:
        return self._attachment.up

    @property
    def link_since_ns(self) -> int:
        """Since when, where it is up."""
        return self._attachment.since_ns

    @property
    def problem(self) -> str:
        """Why there is no link."""
        return self._attachment.problem

    @property
    def streams(self) -> Collection[str]:
        """The senders' runs that it has heard."""
        return self._known_runs.values()

    def attach(self, session: Any) -> Any:
        path = self.path
        name = path.subscription or f"inflight-{self._run:016x}-{next(self._attachments)}"
        link = session.receiver(name)
        if path.receive_address:
            link.source.address = path.receive_address
        else:
            link.source.dynamic = True
        if path.selector is not None:
            Selector(path.selector).apply(link)
        if path.subscription is not None:
            DurableSubscription().apply(link)
        return link

    def on_open(self, link: Any) -> None:
        address = c.pn_terminus_get_address(lib.pn_link_remote_source(link))
        if not address:
            return  # refused: the detach that says why is on its way
        if not self.path.receive_address and address != self.dynamic_address:
            self.dynamic_address = address
            self._moved()
        self._link = link
        now = self._clock.now_ns()
        self._attachment.begins(now)
        self._watch.link_begins(now)
        self._arrivals.attached()
        lib.pn_link_flow(link, self.path.credit)
        self.connection.touch()

    def on_flow(self) -> None:
        pass

    def on_delivery(self, delivery: Any) -> None:
        if self._over or not lib.pn_delivery_readable(delivery) or lib.pn_delivery_partial(delivery):
            return  # after the end they stay unsettled, and so the peer's
        link = self._link
        size = lib.pn_delivery_pending(delivery)
        if size > len(self._buffer):
            self._grow(size)
        count = lib.pn_link_recv(link, self._buffer_c, len(self._buffer))
        received_ns = self._clock.now_ns()
        ours = count > 0 and not lib.pn_delivery_aborted(delivery) and self._row(count, received_ns)
        lib.pn_link_advance(link)
        if ours or self.path.foreign == "accept":
            lib.pn_delivery_update(delivery, c.PN_ACCEPTED)
        else:
            lib.pn_delivery_update(delivery, c.PN_RELEASED)
        lib.pn_delivery_settle(delivery)
        credit = lib.pn_link_credit(link)
        if credit <= self.path.credit // 2:
            lib.pn_link_flow(link, self.path.credit - credit)

    def on_lost(self, reason: str) -> None:
        self._link = None
        self._watch.link_ends()
        self._attachment.ends(self._clock.now_ns(), reason)

    def forget(self) -> None:
        self._link = None
        self._attachment.up = False

    def journal(self) -> None:
        pass  # rows are in the store's file as soon as they are written

    def stood_still(self, from_ns: int, to_ns: int) -> None:
        """The process did: what came meanwhile may have been too much for the peer to keep."""
        self._watch.stood_still(from_ns, to_ns)
        self._store.unwatched(self._watch.unwatched_ns)

    # -- a message

    def _row(self, count: int, received_ns: int) -> bool:
        """Write the row of the message in the buffer; whether it is one of ours."""
        at = self._last_head_bytes
        head = bytes(self._view[:at])
        known = self._heads.get(head)
        if known is None or at + RUN_AT + COUNTED_BYTES > count:
            at, known = self._look_closer(count)
            if known is None:
                self._foreign += 1
                self.foreign += 1
                return False
        view = self._view
        prefix = bytes(view[at : at + RUN_AT])
        if prefix != self._prefix:
            if prefix == self._warmup_prefix:
                return True  # nobody counts them
            self._foreign += 1
            self.foreign += 1
            return False
        run = bytes(view[at + RUN_AT : at + RUN_AT + 8])
        if run not in self._known_runs or run in self._want_reply:
            self._hello(run, at, count)
        flags, route = known
        counted = view[at + RUN_AT : at + RUN_AT + COUNTED_BYTES]
        self._store.add(counted, received_ns, count - at, flags, route)
        self.received += 1
        self.last_received_ns = received_ns
        return True

    def _look_closer(self, count: int) -> tuple[int, tuple[int, int] | None]:
        """Find the body by the message's sections, and remember what stands before it."""
        data = bytes(self._view[:count])
        found = find_body(data)
        if found is None or found.offset + found.size != count or found.size < _HELLO_BYTES:
            return 0, None
        if data[found.offset : found.offset + 4] != MAGIC:
            return 0, None
        known = (FLAG_REDELIVERED if found.redelivered else 0, self._route(data))
        if len(self._heads) >= _MAX_HEADS:
            self._heads.clear()  # some peers count TTL down: no two heads are the same
        self._heads[data[: found.offset]] = known
        self._last_head_bytes = found.offset
        return found.offset, known

    def _route(self, data: bytes) -> int:
        route = trace_of(data)
        if route is None:
            return 0
        if route not in self._routes:
            if len(self._routes) >= _MAX_ROUTES:
                return 0
            self._routes.append(route)
        return self._routes.index(route) + 1

    def _hello(self, run: bytes, at: int, count: int) -> None:
        """A run's first message, or one whose address for answers is asked for."""
        body = decode_body(self._view[:count], at)
        if body is None:
            return
        stream = f"{body.run:016x}"
        self._want_reply.discard(run)
        if run not in self._known_runs:
            if len(self._known_runs) >= _MAX_HEADS:
                self._forget_oldest_run()
            self._known_runs[run] = stream
        if stream not in self._comparisons:
            self._comparisons[stream] = Comparison()
            if body.boot and body.boot == self._clock.boot:
                self._comparisons[stream].same_boot(self._clock.epoch_ns, body.epoch_ns)
        reply_to = reply_address(bytes(self._view[:count]))
        if reply_to is not None:
            self._answers_to(stream, reply_to)

    def _forget_oldest_run(self) -> None:
        run = next(iter(self._known_runs))
        self._comparisons.pop(self._known_runs.pop(run), None)  # another that hears it adds it again

    def ask_for_reply_address(self) -> None:
        """Look at the next message of each stream for where its sender listens now."""
        self._want_reply.update(self._known_runs)

    def _grow(self, size: int) -> None:
        size = min(size, _LARGEST_BYTES)
        self._buffer = bytearray(size)
        self._buffer_c = ffi.from_buffer(self._buffer)
        self._view = memoryview(self._buffer)

    # -- the records

    def publish(self, *, bye: bool = False) -> None:
        """All that arrived, and that this end was there until now."""
        # Not the time it is now: the process may have stood still since it read.
        now = max(self._read_ns(), self._publisher.frontier_ns)
        self._over = bye
        rows = self._store.rows()
        groups, bad = self._arrivals.groups(rows, self._routes) if len(rows) else ([], 0)
        self._foreign += bad
        self.foreign += bad
        for group in groups:
            highest = int(np.max(group.rows.seq))
            self.highest[group.stream] = max(self.highest.get(group.stream, -1), highest)
            self._publisher.add_received(group, **self._attachment.state)
        self._publisher.end(now, kind="bye" if bye else "alive", always=True, **self._state(now))
        self._store.unwatched(self._watch.unwatched_ns)
        for stream in self.streams:
            self._heard(stream, self.highest.get(stream, -1))

    def _state(self, now_ns: int) -> dict[str, Any]:
        foreign, self._foreign = self._foreign, 0
        clocks: dict[str, Clock] = {}
        for stream, comparison in self._comparisons.items():
            best = comparison.best(now_ns)
            if best is not None:
                clocks[stream] = best
        return {
            **self._attachment.state,
            **self._attachment.take_spans(now_ns),
            "unwatched": self._watch.take(now_ns, is_read=self.connection.is_read),
            "foreign": foreign,
            "clock": clocks,
        }
