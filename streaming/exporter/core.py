"""Rows in, metrics out: the state behind `/metrics`, the live page and the terminal."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import CollectorRegistry

from collectors.config import paths as configured_paths
from collectors.config.model import Config
from collectors.contract.attribution_rows import AttributionRow
from collectors.contract.events import Event
from collectors.contract.telemetry import Telemetry
from collectors.contract.window_rows import LiveRow, Named, WindowRow
from collectors.http.metric_factory import counter, head, histogram, line_form, quote
from collectors.process import wall_clock
from streaming.accounting.bounds import AHEAD_NS
from streaming.exporter import episodes, event_metrics, hop_metrics, metrics_text, row_checks
from streaming.exporter.event_effects import Effect, EventEffects
from streaming.exporter.memory_bounds import Full, MemoryBound
from streaming.exporter.network import Network
from streaming.exporter.objectives import objectives
from streaming.exporter.path import Labels, Path
from streaming.exporter.path_counters import BASES, PathCounters, Result
from streaming.exporter.path_state import diagnose, troubled_now
from streaming.states import Diagnosis

_log: Final = logging.getLogger("inflight.exporter")

MAX_PATHS: Final = 10_000
MAX_BYTES: Final = 256 << 20  # of all paths together, with what is told of them
MAX_EPISODES_BYTES: Final = 64 << 20  # of rows that name hops, of all paths together
MAX_EVENTS: Final = 2_000
MAX_EVENTS_BYTES: Final = 4 << 20
VANISH_NS: Final = 300 * 10**9  # the series of a path that nobody configures or tells of any more
FORGET_NS: Final = 7 * 24 * 3_600 * 10**9  # its counters: as long as windows can be read again
RESULTS: Final = ("used", "repeat", "old", "bad", "future", "full")
_STATE: Final = line_form("path_state")
_MAINTENANCE: Final = line_form("path_maintenance")
_SAY_SECONDS: Final = 60.0  # between two lines on what is refused for the same reason
FRESHNESS_BUCKETS_SECONDS: Final = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0, 300.0)


class Exporter:
    """Takes rows and events in the order of their topics; any thread may render at the same time."""

    def __init__(
        self, config: Config, registry: CollectorRegistry, now_ns: Callable[[], int] = wall_clock.now_ns
    ) -> None:
        self.config: Final = config
        self.now_ns: Final = now_ns
        self.lock: Final = threading.RLock()
        self.paths: Final[dict[str, Path]] = {}
        self.events: Final[deque[Event]] = deque()
        self.effects: Final = EventEffects()
        self.network: Final = Network()
        self.memory: Final = MemoryBound(MAX_BYTES)
        self.episodes_memory: Final = MemoryBound(MAX_EPISODES_BYTES)
        self.catching_up = False  # rows of the past are being read: they tell nothing of freshness
        self.keep_ns: Final = 2 * config.defaults.horizon
        self._configured: Final = configured_paths.resolve(config)
        self._freshness: Final = histogram("exporter_freshness_seconds", registry, FRESHNESS_BUCKETS_SECONDS)
        self._errors: Final = counter("exporter_accounting_errors_total", registry)
        self._rows: Final = counter("exporter_rows_total", registry)
        for topic in ("windows", "live", "attribution", "events", "router", "broker"):
            for result in RESULTS:
                self._rows.labels(topic, result)
        self._say_again: Final[dict[tuple[str, str], float]] = {}
        self.add_configured()

    def add_configured(self) -> None:
        """Add the configured paths, which are shown before their first row, with all counters at 0."""
        for name in self._configured:
            self.paths.setdefault(name, self.new_path(name))

    def new_path(self, name: str) -> Path:
        """Return a path with nothing counted, with labels and objectives as configured, if it is."""
        known = self._configured.get(name)
        labels = Labels("")
        if known is not None:
            settlement = "presettled" if known.presettled else "acknowledged"
            labels = Labels(
                known.mesh, known.address, known.source, known.target, known.via or "", settlement
            )
        flow = known.flow if known else name
        bases = BASES if self.config.export.service_histogram else BASES[:1]
        counters = PathCounters(self.keep_ns, bases)
        return Path(name, labels, known is not None, objectives(self.config, name, flow), counters)

    def apply_window(self, row: WindowRow) -> None:
        """Count a row of `inflight.windows` once, however often it comes, and check that its figures add up.

        Raises ValueError, and counts nothing, if its histograms cannot be read.
        """
        faults = row_checks.faults(row)
        with self.lock, self.refusing("windows", row["path"]):
            start_ns, end_ns = row["window_start_ns"], row["window_start_ns"] + row["window_ns"]
            self._check_time(end_ns)
            path = self._path(row, row["routes"])
            maintenance = self.in_maintenance(path.name, start_ns, end_ns)
            result: Result = path.counters.apply(row, path.objectives, maintenance=maintenance)
            self._rows.labels("windows", result).inc()
            if result != "used":
                return
            if faults:
                self._errors.inc()
                where = f"path {row['path']!r}, window {row['window_start_ns']}, revision {row['revision']}"
                _log.error("the books do not balance: %s: %s", where, "; ".join(faults))
            path.show(row)
            now_ns = self.now_ns()
            path.touch(now_ns)
            self.effects.add_window(row, now_ns)

    def apply_live(self, row: LiveRow) -> None:
        """Show a row of `inflight.live`; the last one wins."""
        with self.lock, self.refusing("live", row["path"]):
            self._check_time(max(row["at_ns"], row["window_start_ns"]))
            path = self._path(row)
            before_ns, last_ns = path.last_received_ns or 0, row["last_received_ns"]
            path.show_live(row)
            now_ns = self.now_ns()
            path.touch(now_ns)
            self.effects.add_live(path.name, row["at_ns"], now_ns, troubled=troubled_now(path))
            self._rows.labels("live", "used").inc()
            if last_ns is not None and last_ns > before_ns and not self.catching_up:
                self._freshness.observe(max(0, now_ns - last_ns) / 1e9)

    def apply_attribution(self, row: AttributionRow) -> None:
        """Keep a row of `inflight.attribution`, and count what a final one says, however often it comes.

        Raises ValueError, and counts nothing, if it ends before it begins.
        """
        if not row["from_ns"] <= row["to_ns"]:
            raise ValueError("the episode ends before it begins")
        with self.lock, self.refusing("attribution", row["path"]):
            self._check_time(max(row["to_ns"], row["episode_ns"], row["made_ns"]))
            path = self._path_of_episode(row)
            self.episodes_memory.reserve(path.name, path.episodes.size() + episodes.weight(row))
            result = path.episodes.apply(row)
            self.episodes_memory.reserve(path.name, path.episodes.size())
            path.chunks = None
            self._rows.labels("attribution", result).inc()

    def apply_event(self, event: Event) -> None:
        """Take an event of `inflight.events`; the oldest are dropped to keep within the bounds."""
        with self.lock:
            if event.at_ns - self.now_ns() <= AHEAD_NS:  # of the future, they would push out those of now
                self.effects.add_event(event)
            repeat = event in self.events
            if not repeat:
                self.events.append(event)
                while len(self.events) > MAX_EVENTS or sum(map(_weight, self.events)) > MAX_EVENTS_BYTES:
                    self.events.popleft()
            self._rows.labels("events", "repeat" if repeat else "used").inc()

    def apply_router(self, record: Telemetry) -> None:
        """Show a record of `inflight.router`."""
        with self.lock, self.refusing("router", record.key):
            self._check_time(record.at_ns)
            self.network.apply_router(record, self.now_ns())
            self._rows.labels("router", "used").inc()

    def apply_broker(self, record: Telemetry) -> None:
        """Show a record of `inflight.broker`."""
        with self.lock, self.refusing("broker", record.key):
            self._check_time(record.at_ns)
            self.network.apply_broker(record, self.now_ns())
            self._rows.labels("broker", "used").inc()

    @contextmanager
    def refusing(self, topic: str, what: str) -> Iterator[None]:
        """Count a row that the block refuses as full or of the future, and log it now and then."""
        try:
            yield
        except (Full, _Ahead) as error:
            result = "full" if isinstance(error, Full) else "future"
            self._rows.labels(topic, result).inc()
            now = time.monotonic()
            if now >= self._say_again.get((topic, result), now):
                self._say_again[topic, result] = now + _SAY_SECONDS
                _log.warning("%s, of %r, is left out: %s", topic, what[:200], error)

    def _check_time(self, at_ns: int) -> None:
        """Refuse a row of the future: it would stay the newest, whatever else came."""
        ahead_ns = at_ns - self.now_ns()
        if ahead_ns > AHEAD_NS:
            raise _Ahead(f"it is of {ahead_ns // 10**9} s after this machine's clock")

    def effects_told(self) -> list[tuple[Event, Effect]]:
        """Return what the events of the last hour did."""
        with self.lock:
            return self.effects.told(self.now_ns())

    def count_bad(self, topic: str) -> None:
        """Count a row that could not be read."""
        self._rows.labels(topic, "bad").inc()

    def in_maintenance(self, path: str, from_ns: int, to_ns: int) -> bool:
        return any(
            event.kind == "maintenance" and event.covers(from_ns, to_ns) and event.concerns(path)
            for event in self.events
        )

    def diagnose(self, path: Path, now_ns: int) -> Diagnosis:
        """Return the path's state and the reason: page, terminal and Prometheus have them from here."""
        return diagnose(path, now_ns, maintenance=self.in_maintenance(path.name, now_ns, now_ns + 1))

    def shown(self) -> list[Path]:
        """Return the paths that have series now, by name; forget those without a row for a week."""
        with self.lock:
            now_ns = self.now_ns()
            for path in [p for p in self.paths.values() if not p.configured]:
                if now_ns - (path.seen_ns or 0) > FORGET_NS:
                    del self.paths[path.name]
                    self.effects.forget(path.name)
                    self.memory.release([path.name])
                    self.episodes_memory.release([path.name])
            found = [
                path
                for path in self.paths.values()
                if path.configured or now_ns - (path.seen_ns or 0) <= VANISH_NS
            ]
            return sorted(found, key=lambda path: path.name)

    def render(self) -> str:
        """Return the paths' families in Prometheus' text format."""
        service = self.config.export.service_histogram
        with self.lock:
            shown = self.shown()
            for path in shown:
                if path.chunks is None:
                    path.chunks = metrics_text.chunks(path, service=service)
            pieces = [path.chunks for path in shown if path.chunks is not None]
            of_hops = hop_metrics.of_now(shown, self.now_ns())
            return metrics_text.join(pieces, [*self._of_now(shown), *of_hops, *self._of_events()])

    def _of_events(self) -> list[str]:
        return [
            *event_metrics.active(self.events, self.now_ns()),
            *event_metrics.effects(self.effects_told()),
        ]

    def _of_now(self, shown: list[Path]) -> list[str]:
        """Return the families that also change with the clock."""
        now_ns = self.now_ns()
        states, marks = [head("path_state")], [head("path_maintenance")]
        for path in shown:
            labels = quote(path.labels.mesh), quote(path.name)
            marked = self.in_maintenance(path.name, now_ns, now_ns + 1)
            found = diagnose(path, now_ns, maintenance=marked)
            states.append(_STATE % (*labels, found.state.rank))
            marks.append(_MAINTENANCE % (*labels, int(marked)))
        return states + marks if shown else []

    def forget_episodes(self) -> None:
        """Forget episodes of more than a day ago, but not those that are only being read now."""
        with self.lock:
            if self.catching_up:
                return
            before_ns = self.now_ns() - episodes.KEEP_NS
            for path in self.paths.values():
                if path.episodes.kept:
                    path.episodes.forget(before_ns)
                    self.episodes_memory.reserve(path.name, path.episodes.size())

    def _path_of_episode(self, row: AttributionRow) -> Path:
        """Return the row's path, which may have had no other row yet."""
        known = self.paths.get(row["path"])
        if known is not None:
            return known
        path = self._path(
            {
                "v": 1,
                "mesh": row["mesh"],
                "path": row["path"],
                "address": row["address"],
                "source": "",
                "target": "",
                "presettled": False,
            }
        )
        path.labels = Labels(row["mesh"], row["address"])
        path.seen_ns = self.now_ns()
        return path

    def _path(self, row: Named, routes: dict[str, int] | None = None) -> Path:
        """Return a row's path; raise Full if there is no memory left for it or for what the row adds."""
        path = self.paths.get(row["path"])
        if path is None:
            if len(self.paths) >= MAX_PATHS:
                raise Full(f"{MAX_PATHS} paths are the most that are shown")
            path = self.new_path(row["path"])
        if not path.configured:  # which are as many as the config says, and have always room
            self.memory.reserve(path.name, path.weight(row, routes))
        return self.paths.setdefault(path.name, path)


class _Ahead(Exception):  # noqa: N818 -- it names the row
    """A row is of a time that has not come yet."""


def _weight(event: Event) -> int:
    """Return about how many bytes an event takes; patterns count for more, as each is tried on each path."""
    return 512 + len(event.text) + sum(1_024 + len(pattern) for pattern in event.paths)
