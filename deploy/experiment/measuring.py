"""What is counted in a run: the accounting of its records, polls of routers and brokers, events, memory."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from prometheus_client import CollectorRegistry

from collectors.config.model import Config
from collectors.config.paths import default_rules, resolve
from collectors.contract import record_codec
from collectors.contract.events import Event
from collectors.contract.records import SECOND_NS
from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import BROKER, ROUTER, Topic
from collectors.contract.window_rows import WindowRow
from collectors.process.worker import Worker, joined
from collectors.runner import CollectorRunner
from deploy.experiment import tables
from deploy.experiment.jitter import Arrivals
from deploy.experiment.waiting import Waiting
from deploy.experiment.windows import Decided, Spans, Windows
from deploy.loads import figures
from deploy.ping.files import write_hdr_log
from deploy.ping.rates import Rates
from streaming.accounting import Accountant
from streaming.archive.layout import WINDOWS

_log: Final = logging.getLogger("inflight.experiment")
_TIDY_SECONDS: Final = 5.0
_COLLECTED_SECONDS: Final = 5.0
_VERSION: Final = "version"
_LONGEST_NAME: Final = 100


class Measuring:
    """From `start` to `close` all that is told is kept; `write` then leaves it in the run's folder."""

    def __init__(self, config: Config, folder: Path, scratch: Path, arrivals: Arrivals | None = None) -> None:
        """`arrivals` is given each record as well."""
        self._folder = folder
        self._paths = resolve(config)
        fallback = default_rules(config)
        rules = {name: path.rules for name, path in self._paths.items()}
        self.window_ns: Final = max((one.window_ns for one in rules.values()), default=fallback.window_ns)
        self._accountant = Accountant(lambda name: rules.get(name, fallback))
        self.windows: Final = Windows(scratch / "windows")
        self._rates = Rates()
        self._arrivals = arrivals
        self._lock = threading.Lock()
        self._problem: str | None = None
        self._tables = {
            ROUTER: tables.of_polls(folder / "router.parquet"),
            BROKER: tables.of_polls(folder / "broker.parquet"),
        }
        self._waiting = Waiting()
        self._events: dict[tuple[Any, ...], Event] = {}
        self.versions: Final[dict[str, str]] = {}  # of routers and brokers, as they tell them
        self._collectors = CollectorRunner(config, CollectorRegistry(), self._take_poll)
        self._over = threading.Event()
        self._tidying = Worker("tidy", self._tidy)

    def start(self) -> None:
        self._collectors.start()
        self._tidying.start()

    def take(self, record: bytes, path: str) -> None:
        """Count a record of a probe."""
        with self._lock:
            try:
                fed = self._accountant.feed(record, time.time_ns(), path)
                decoded = record_codec.decode(record)
                self._rates.take(decoded)
                if self._arrivals is not None:
                    self._arrivals.take(decoded)
                for row in fed.rows:
                    self.windows.add(row)
            except Exception as error:  # noqa: BLE001 -- whatever it is, no figure can be trusted
                _log.exception("a record of path %s could not be counted", path)
                self._problem = self._problem or f"a record of path {path} could not be counted: {error}"
                return
            if fed.dead_letter is not None:
                self._problem = (
                    self._problem or f"a record of path {path} is refused: {fed.dead_letter.detail}"
                )

    def take_row(self, row: bytes) -> None:
        """Keep a final row of the accounting, where another one has counted."""
        with self._lock:
            self.windows.add(row)

    def take_event(self, event: Event) -> None:
        """Keep what was done on purpose; the end of an action comes as its event once more."""
        self._events[event.key] = event

    def problem(self) -> str | None:
        """Return why the figures cannot be trusted, or None."""
        return joined(self._problem, self._tidying.problem)

    def decided(self) -> Decided:
        """Return what became of all messages of final windows by now."""
        with self._lock:
            return self.windows.decided

    def figures(
        self, spans: Spans, unbounded: Iterable[str], *, counted: bool = False
    ) -> dict[str, dict[str, Any]]:
        """Return the figures of each path and of all, of the windows within these times."""
        return figures.of_paths(self._rows(spans), unbounded, counted=counted)

    def in_time(self, spans: Spans, within_ns: int | None) -> int:
        """Return how many messages of these times came, or came within this time."""
        rows = (row for windows in self._rows(spans).values() for row in windows)
        return sum(figures.in_time(row, within_ns) for row in rows)

    def backlog(self, from_ns: int, to_ns: int) -> list[int]:
        """Return how many messages were due and had not come, at the end of each second of this time."""
        with self._lock:
            return self._rates.backlog(from_ns // SECOND_NS, to_ns // SECOND_NS)

    def waiting(self, spans: Spans) -> dict[str, float]:
        """Return how many messages waited in each broker's queues within these times, in the mean."""
        return self._waiting.means(spans)

    def _rows(self, spans: Spans) -> dict[str, list[WindowRow]]:
        with self._lock:
            names = dict.fromkeys([*self._paths, *self.windows.paths])
            return {name: figures.within(self.windows.rows(name, spans), spans) for name in names}

    def close(self) -> None:
        self._over.set()
        self._collectors.close(_COLLECTED_SECONDS)
        self._tidying.join()

    def write(self, spans: Spans) -> None:
        """Leave everything in the folder, latencies of these times, and let go of it; raises OSError."""
        steady = self._rows(spans)
        for table in self._tables.values():
            table.close()
        windows = tables.of_windows(self._folder / "windows.parquet")
        for name in self.windows.paths:
            for row in self.windows.encoded(name):
                windows.add([WINDOWS.values(row)])
        windows.close()
        events = tables.of_events(self._folder / "events.parquet")
        events.add(
            tables.event_row(event) for _, event in sorted(self._events.items(), key=lambda one: one[0][0])
        )
        events.close()
        for name, file in _file_names(steady).items():
            write_hdr_log(self._folder / f"{file}.hlog", steady[name])
        self._rates.write(self._folder / "rate.csv")
        self.windows.close()

    def _take_poll(self, topic: Topic, record: Telemetry) -> None:
        self._tables[topic].add(tables.poll_rows(record))
        if topic is BROKER:
            self._waiting.take(record)
        for row in record.rows if record.target and record.target not in self.versions else ():
            if isinstance(version := row.get(_VERSION), str) and version:
                self.versions[record.target] = version

    def _tidy(self) -> None:
        while not self._over.wait(_TIDY_SECONDS):
            with self._lock:
                self._accountant.tidy()


def _file_names(paths: Iterable[str]) -> dict[str, str]:
    """Return each path's name as a file can have it; of those that would be the same, with a number."""
    found: dict[str, str] = {}
    for path in paths:
        name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in path)
        name = name.lstrip(".")[:_LONGEST_NAME] or "_"
        taken = sum(other == name or other.startswith(f"{name}~") for other in found.values())
        found[path] = f"{name}~{taken + 1}" if taken else name
    return found
