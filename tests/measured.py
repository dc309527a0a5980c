"""Probes in the test's own process, with the accounting: `from measured import Measured`."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

from helpers import wait_until

from collectors.config import load, paths
from collectors.contract import record_codec, records
from collectors.contract.window_rows import WindowRow, decode_window
from collectors.kafka.in_process_sink import InProcessSink
from collectors.probe.prober import Prober, Settings
from streaming.accounting import Accountant


def parse(text: str) -> tuple[Any, dict[str, paths.Path]]:
    """Parse a config that lacks its first lines; return it and its paths."""
    config = load.parse("version: 1\nsite: test\n" + text, "test")
    return config, paths.resolve(config)


class Accounted:
    """Records as they come, and the rows that the accounting makes of them."""

    def __init__(self, known: dict[str, paths.Path]) -> None:
        self.records: list[records.Record] = []
        self._rows: dict[tuple[str, int], WindowRow] = {}
        self._accountant = Accountant(lambda name: known[name].rules)
        self._lock = threading.Lock()

    def take(self, record: bytes, key: str, append_ns: int | None = None) -> None:
        with self._lock:
            self.records.append(record_codec.decode(record))
            fed = self._accountant.feed(record, append_ns or time.time_ns(), key)
            assert fed.dead_letter is None, fed.dead_letter
            for row in map(decode_window, fed.rows):
                self._rows[row["path"], row["window_start_ns"]] = row

    def rows(self, path: str) -> list[WindowRow]:
        return [row for (name, _), row in sorted(self._rows.items()) if name == path]

    def total(self, path: str) -> Counter[str]:
        """Return the sums of all counts over all windows; check that the classes add up."""
        total: Counter[str] = Counter()
        for row in self.rows(path):
            assert sum(row["classes"].values()) == row["sent"]
            total.update(row["classes"])
            total["sent"] += row["sent"]
            total["due"] += row["due"]
            for name in (
                "duplicate",
                "redelivered",
                "reordered",
                "foreign",
                "unexpected",
                "negative",
                "late",
            ):
                total[name] += int(row[name])  # type: ignore[literal-required]  # a name of the row's own
            total.update({f"refused {name}": count for name, count in row["refused"].items()})
            total.update({f"lost {name}": count for name, count in row["lost"].items()})
            total.update({f"unsent {name}": count for name, count in row["unsent"].items()})
        return +total

    def flags(self, path: str) -> set[str]:
        return {flag for row in self.rows(path) for flag in row["flags"]}


class Measured:
    """A prober that starts at once; after `finish` all `rows` are final."""

    def __init__(
        self,
        text: str,
        *,
        send: bool = True,
        receive: bool = True,
        shared_with: Measured | None = None,
        **settings: Any,
    ) -> None:
        """With `shared_with`, records go to the accounting of another one, with other ends of the paths."""
        config, self.paths = parse(text)
        self.accounted: Accounted = shared_with.accounted if shared_with else Accounted(self.paths)
        everything = list(self.paths.values())
        self._sink = InProcessSink(self.accounted.take)
        self.prober = Prober(
            everything if send else [],
            everything if receive else [],
            config.endpoints,
            self._sink,
            Settings(**{"site": "test", "linger_seconds": 5.0, **settings}),
        )
        self.rows, self.total, self.flags = self.accounted.rows, self.accounted.total, self.accounted.flags
        self.prober.start()
        self._over = False

    @property
    def records(self) -> list[records.Record]:
        return self.accounted.records

    @property
    def sent(self) -> int:
        return sum(end.sender.sent for end in self.prober.senders)

    @property
    def received(self) -> int:
        return sum(receiver.received for receiver in self.prober.receivers)

    def wait_sent(self, count: int, seconds: float = 30) -> None:
        wait_until(lambda: self.sent >= count, seconds, f"{count} messages to be sent")

    def wait_finished(self, seconds: float = 60) -> None:
        """Wait until all schedules are at their end."""
        wait_until(
            lambda: self.prober.senders and all(end.sender.finished for end in self.prober.senders),
            seconds,
            "the schedules' end",
        )

    def finish(self) -> None:
        if not self._over:
            self._over = True
            self.prober.stop()
            self._sink.close()
