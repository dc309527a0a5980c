"""A receiver end: writes a row for each message, and makes records of the rows once a second."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

import numpy as np

from collectors.config.paths import Path
from collectors.contract.records import FLAG_REDELIVERED, Clock, flow_hash
from collectors.probe.colours import ReceivingColours
from collectors.probe.durable.row_store import RowStore
from collectors.probe.measure.arrivals import Arrivals
from collectors.probe.measure.clock import ClockComparison, RunClock
from collectors.probe.measure.link_uptime import LinkUptime
from collectors.probe.measure.standstill import Standstill
from collectors.probe.message import BODY, COUNTED_BYTES, MAGIC, RUN_AT, decode_body, flow_prefix
from collectors.probe.publisher import Publisher
from collectors.probe.transport import Connection, ReceivingLink

_MAX_HEADS: Final = 256
_MAX_ROUTES: Final = 255


class Receiver:
    """Receives one path's messages. All are accepted; those of others may be released instead."""

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
        comparisons: dict[str, ClockComparison],
        received_up_to: Callable[[str, int], object] = lambda _stream, _highest: None,
        sender_listens_at: Callable[[str, str], None] = lambda _stream, _address: None,
        address_changed: Callable[[], None] = lambda: None,
    ) -> None:
        """A path without a receive address gets one from its peer: that is where round trips end.

        `address_changed` is called when the peer assigns another one: messages must ask for echoes to there.
        `read_ns` returns the time by which all that had come is read: no later time is measured.
        `comparisons` is shared by a process's receivers of the flow, which have one clock: competing ones may
        take turns so that each hears one sender only, and yet a window asks each of them for every clock.
        """
        self.path: Final = path
        self.name: Final = name
        self.dynamic_address: str | None = None
        self._publisher = publisher
        self._clock, self._run, self._store, self._read_ns = clock, run, store, read_ns
        self._received_up_to, self._sender_listens_at = received_up_to, sender_listens_at
        self._address_changed = address_changed
        self._uptime = LinkUptime(f"path {path.name}: receiver {name}", clock.now_ns())
        self._standstill = Standstill(clock.now_ns())
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
        self._accepts_foreign = path.foreign == "accept"
        self._foreign = 0  # since the last publication
        self.received = 0
        self.foreign = 0
        self.highest: dict[str, int] = {}
        self.last_received_ns = 0
        self._links = ReceivingColours(connection, path, run, self)

    # -- its links

    @property
    def link(self) -> ReceivingLink:
        """Its link, the first one of a marked path's: both are on one connection, unless it was split."""
        return self._links.first

    @property
    def link_up(self) -> bool:
        return self._links.attached

    @property
    def link_since_ns(self) -> int:
        """Since when all its links are there."""
        return self._uptime.since_ns

    @property
    def problem(self) -> str:
        """Why there is no link."""
        return self._links.problem or self._uptime.problem

    @property
    def streams(self) -> Collection[str]:
        """The senders' runs of which it has received messages."""
        return self._known_runs.values()

    def on_attached(self, address: str) -> None:
        if not self.path.receive_address and address != self.dynamic_address:
            self.dynamic_address = address
            self._address_changed()
        self._arrivals.attached()
        if self.link_up:
            now = self._clock.now_ns()
            self._uptime.begins(now)
            self._standstill.link_begins(now)

    def on_lost(self, reason: str) -> None:
        self._standstill.link_ends()
        self._uptime.ends(self._clock.now_ns(), reason)

    def close(self) -> None:
        """Closes its links; nothing more is heard of them."""
        self._links.close()

    def stood_still(self, from_ns: int, to_ns: int) -> None:
        """The process did not run: what came meanwhile may have been too much for the peer to keep."""
        self._standstill.stood_still(from_ns, to_ns)
        self._store.unwatched(self._standstill.unwatched_ns)

    # -- a message

    def on_message(self, buffer: memoryview, size: int, row_flag: int = 0) -> bool:
        received_ns = self._clock.now_ns()
        at = self._last_head_bytes
        head = bytes(buffer[:at])
        known = self._heads.get(head)
        if known is None or at + RUN_AT + COUNTED_BYTES > size:
            at, known = self._look_closer(bytes(buffer[:size]))
            if known is None:
                return self._on_foreign()
        prefix = bytes(buffer[at : at + RUN_AT])
        if prefix != self._prefix:
            return prefix == self._warmup_prefix or self._on_foreign()  # nobody counts a warm-up
        run = bytes(buffer[at + RUN_AT : at + RUN_AT + 8])
        if run not in self._known_runs or run in self._want_reply:
            self._first_message(run, at, bytes(buffer[:size]))
        flags, route = known
        counted = buffer[at + RUN_AT : at + RUN_AT + COUNTED_BYTES]
        self._store.add(counted, received_ns, size - at, flags | row_flag, route)
        self.received += 1
        self.last_received_ns = received_ns
        return True

    def _on_foreign(self) -> bool:
        self._foreign += 1
        self.foreign += 1
        return self._accepts_foreign

    def _look_closer(self, data: bytes) -> tuple[int, tuple[int, int] | None]:
        """Finds the body by the whole message's form, and remembers what stands before it."""
        found = self._links.envelope(data)
        if found is None or found.body_at + found.body_bytes != len(data):
            return 0, None
        if found.body_bytes < BODY.size or not data.startswith(MAGIC, found.body_at):
            return 0, None
        known = (FLAG_REDELIVERED if found.redelivered else 0, self._route_number(found.route))
        if len(self._heads) >= _MAX_HEADS:
            self._heads.clear()  # some peers count TTL down: no two heads are the same
        self._heads[data[: found.body_at]] = known
        self._last_head_bytes = found.body_at
        return found.body_at, known

    def _route_number(self, route: str | None) -> int:
        """Returns the route's place in the list of known ones, counted from 1; 0 for none."""
        if route is None:
            return 0
        if route not in self._routes:
            if len(self._routes) >= _MAX_ROUTES:
                return 0
            self._routes.append(route)
        return self._routes.index(route) + 1

    def _first_message(self, run: bytes, at: int, data: bytes) -> None:
        """Reads a run's first message, or one of which the address for answers is wanted."""
        body = decode_body(data, at)
        if body is None:
            return
        stream = f"{body.run:016x}"
        self._want_reply.discard(run)
        if run not in self._known_runs:
            if len(self._known_runs) >= _MAX_HEADS:
                self._forget_oldest_run()
            self._known_runs[run] = stream
        if stream not in self._comparisons:
            self._comparisons[stream] = ClockComparison()
            if body.boot and body.boot == self._clock.boot:
                self._comparisons[stream].same_boot(self._clock.epoch_ns, body.epoch_ns)
        reply_to = self._links.reply_address(data)
        if reply_to is not None:
            self._sender_listens_at(stream, reply_to)

    def _forget_oldest_run(self) -> None:
        run = next(iter(self._known_runs))
        self._comparisons.pop(self._known_runs.pop(run), None)  # another receiver of that run adds it again

    def ask_for_reply_address(self) -> None:
        """Reads from the next message of each stream where its sender listens now."""
        self._want_reply.update(self._known_runs)

    # -- the records

    def publish(self, *, bye: bool = False) -> None:
        """Publishes what arrived, and that this end was there until now; with `bye`, its end."""
        # Not the present time: the process may have stood still since it last read its sockets.
        now = max(self._read_ns(), self._publisher.frontier_ns)
        if bye:
            self._links.stop()
        rows = self._store.rows()
        groups, bad = self._arrivals.groups(rows, self._routes) if len(rows) else ([], 0)
        self._foreign += bad
        self.foreign += bad
        for group in groups:
            highest = int(np.max(group.rows.seq))
            self.highest[group.stream] = max(self.highest.get(group.stream, -1), highest)
            self._publisher.add_received(group, **self._uptime.state)
        self._publisher.end(now, kind="bye" if bye else "alive", always=True, **self._state(now))
        self._store.unwatched(self._standstill.unwatched_ns)
        for stream in self.streams:
            self._received_up_to(stream, self.highest.get(stream, -1))

    def _state(self, now_ns: int) -> dict[str, Any]:
        foreign, self._foreign = self._foreign, 0
        clocks: dict[str, Clock] = {}
        for stream, comparison in self._comparisons.items():
            best = comparison.best(now_ns)
            if best is not None:
                clocks[stream] = best
        return {
            **self._uptime.state,
            **self._uptime.take_spans(now_ns),
            "peer": self.link.connection.peer,
            "unwatched": self._standstill.take(now_ns, is_read=self._links.is_read),
            "foreign": foreign,
            "clock": clocks,
        }
