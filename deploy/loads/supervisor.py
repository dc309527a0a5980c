"""All generator processes of a run, from start to end, and the one accounting of what they tell."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from collectors.process import wall_clock
from deploy.loads.frames import Frames, RecordFrame
from deploy.loads.model import Description
from deploy.loads.paths import Task, tasks
from deploy.loads.phases import Phases, longest_pause_ns
from deploy.loads.rows import Rows
from streaming.accounting import Accountant

_END_SECONDS: Final = 15.0  # for a generator to end in order, then it is killed
_WAIT_SECONDS: Final = 0.1
_AT_CEILING: Final = 0.9  # of a CPU: a generator is one thread that does all
_READ_BYTES: Final = 1 << 20
_SILENT_SECONDS: Final = 2.0
_TIDY_SECONDS: Final = 5.0


@dataclass
class _Generator:
    number: int
    process: subprocess.Popen[bytes]
    frames: Frames = field(default_factory=Frames)
    stand: dict[str, Any] = field(default_factory=dict)
    open: bool = True
    killed: bool = False
    heard_at: float = 0.0

    def stands(self, now: float, *, silent: bool) -> dict[str, Any]:
        """Returns how it stands; `silent` where it, or another one, said nothing for a while."""
        silent = silent or (bool(self.stand) and now - self.heard_at > _SILENT_SECONDS)
        return {**self.stand, "silent": True} if silent else self.stand

    def tell(self, *order: object) -> None:
        """Sends an order; one that is gone is noticed elsewhere."""
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.write(json.dumps(order).encode() + b"\n")
                self.process.stdin.flush()


class Run:
    """Runs a description's loads once."""

    def __init__(self, description: Description, raw: dict[str, Any], rows: Rows) -> None:
        """`raw` is the description as it was read: generators read it again."""
        self._description, self._raw, self._rows = description, raw, rows
        self._tasks: dict[str, Task] = tasks(description)
        rules = next(iter(self._tasks.values())).path.rules
        self._accountant = Accountant(lambda _: rules)
        self._phases = Phases(
            settle_seconds=description.settle / 1e9,
            patience_seconds=(description.patience + 2 * longest_pause_ns(description)) / 1e9,
        )
        self._generators: list[_Generator] = []
        self._problems: list[str] = []
        self._refused_records = 0
        self.began_ns = self.ended_ns = 0

    def run(self, stop: Callable[[], bool], progress: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Blocks until it is over, or `stop` says so; returns the results."""
        self.began_ns = wall_clock.now_ns()
        with self._started() as selector:
            began = told = tidied = time.monotonic()
            ending_since: float | None = None
            while any(generator.open for generator in self._generators):
                for key, _ in selector.select(_WAIT_SECONDS):
                    self._read(selector, key.data)
                now = time.monotonic()
                if stop():
                    self._phases.stop("ended by its user")
                died = not all(generator.open for generator in self._generators)
                stands = [g.stands(now, silent=died) for g in self._generators if g.open]
                for order in self._phases.step(now, stands):
                    for generator in self._generators:
                        generator.tell(*order)
                if self._phases.ending and ending_since is None:
                    ending_since = now
                if ending_since is not None and now - ending_since > _END_SECONDS:
                    self._kill()
                if now - told >= 1:
                    told += 1
                    progress({"seconds": round(now - began, 1), **self._progress()})
                if now - tidied > _TIDY_SECONDS:
                    tidied = now
                    self._accountant.tidy()
        self.ended_ns = wall_clock.now_ns()
        return self._results()

    @contextmanager
    def _started(self) -> Iterator[selectors.BaseSelector]:
        """Generators that are started, and gone at the end whatever happens."""
        command = [sys.executable, "-m", "deploy.loads.worker"]
        with selectors.DefaultSelector() as selector:
            try:
                for number in range(self._description.processes):
                    process = subprocess.Popen(
                        [*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
                    )
                    generator = _Generator(number, process)
                    self._generators.append(generator)
                    assert process.stdout is not None  # noqa: S101 -- for mypy
                    os.set_blocking(process.stdout.fileno(), False)
                    selector.register(process.stdout, selectors.EVENT_READ, generator)
                    generator.process.stdin.write(json.dumps(self._raw).encode() + b"\n")  # type: ignore[union-attr]
                    generator.process.stdin.flush()  # type: ignore[union-attr]
                yield selector
            finally:
                for generator in self._generators:
                    if generator.process.poll() is None:
                        generator.process.kill()
                    generator.process.wait()

    # -- what generators tell

    def _read(self, selector: selectors.BaseSelector, generator: _Generator) -> None:
        out = generator.process.stdout
        assert out is not None  # noqa: S101 -- for mypy
        data = os.read(out.fileno(), _READ_BYTES)
        if not data:
            generator.open = False
            selector.unregister(out)
            if not self._phases.ending:
                self._problems.append(f"generator {generator.number} ended by itself: its log says why")
                self._phases.stop(self._problems[-1])
            return
        for frame in generator.frames.take(data):
            if isinstance(frame, RecordFrame):
                fed = self._accountant.feed(frame.record, wall_clock.now_ns(), frame.path)
                self._rows.add(fed.rows)
                if fed.dead_letter is not None:
                    self._refused_records += 1
            else:
                generator.stand, generator.heard_at = frame.stand, time.monotonic()
                for path, token in frame.stand["retired"]:
                    for each in self._generators:
                        each.tell("over", path, token)

    def _kill(self) -> None:
        for generator in self._generators:
            if generator.open and not generator.killed:
                generator.killed = True
                self._problems.append(
                    f"generator {generator.number} did not end within {_END_SECONDS:g} s and was killed: what"
                    " it had not told yet is not known"
                )
                generator.process.kill()

    # -- what comes of it

    def _counts(self) -> dict[str, Counter[str]]:
        found = {name: Counter[str]() for name in self._tasks}
        for generator in self._generators:
            for name, counts in generator.stand.get("paths", {}).items():
                found[name].update(counts)
        return found

    def _progress(self) -> dict[str, Any]:
        counts = self._counts()
        totals: Counter[str] = sum(counts.values(), Counter())
        problem = next((p for g in self._generators if (p := g.stand.get("not_ready"))), None)
        return {
            "phase": self._phases.name,
            **{name: totals[name] for name in ("sent", "received", "refused", "unsent")},
            "problem": problem,
            "paths": {n: {key: c[key] for key in ("sent", "received")} for n, c in counts.items()},
        }

    def _results(self) -> dict[str, Any]:
        stands = [generator.stand for generator in self._generators]
        counts = self._counts()
        received = sum(each["received"] for each in counts.values())
        cpu_seconds = sum(stand.get("cpu_seconds", 0.0) for stand in stands)
        unbounded = frozenset(n for n, t in self._tasks.items() if t.path.rate[0].start == 0)
        problems = [*self._problems, *(s["failure"] for s in stands if s.get("failure"))]
        if self._refused_records:
            problems.append(f"{self._refused_records} records could not be counted: no figure can be trusted")
        return {
            "format": 1,
            "began_ns": self.began_ns,
            "ended_ns": self.ended_ns,
            "sending_from_ns": self._phases.sending_from_ns,
            "stopped": self._phases.stopped,
            "problems": problems,
            "processes": self._description.processes,
            "loads": {
                name: sorted(t.path.name for t in self._tasks.values() if t.load == name)
                for name in self._description.loads
            },
            "figures": self._rows.figures(unbounded),
            "beside": {name: _beside(each) for name, each in counts.items()},
            "received_by": _received_by(stands),
            "answers_dropped": sum(stand.get("answers_dropped", 0) for stand in stands),
            "stood_still_seconds": [stand.get("stood_still_seconds", 0.0) for stand in stands],
            "cpu_seconds": [stand.get("cpu_seconds", 0.0) for stand in stands],
            "busiest": [stand.get("busiest", 0.0) for stand in stands],
            "at_ceiling": any(stand.get("busiest", 0.0) >= _AT_CEILING for stand in stands),
            "cpu_ns_per_message": round(cpu_seconds * 1e9 / received) if received else None,
        }


def _received_by(stands: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Returns how many messages each receiver of a path got."""
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for stand in stands:
        for path, by_name in stand.get("received_by", {}).items():
            found[path].update(by_name)
    return dict(found)


def _beside(counts: Counter[str]) -> dict[str, int]:
    """Returns what a load counts beside the accounting."""
    return {name: counts[name] for name in ("unanswered", "remade", "stale", "foreign") if counts[name]}
