"""Spark's StatefulProcessor around a shard: gives it rows and state, and stores what it gives back."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from streaming.shard.outputs import Input, Kind, Output
from streaming.shard.shard import LOG_BATCHES, LogEntry, Shard, ShardRules, Snapshot

INPUT_COLUMNS: Final = ("shard", "partition", "offset", "appended_ms", "key", "value")
OUTPUT_SCHEMA: Final = "topic string, key binary, value binary, counter string, count long"
_MS: Final = 1_000_000
_ALLOCATIONS: Final = 100_000  # from one search for garbage to the next: nearly all objects stay

# A worker process lives on from batch to batch. What it decoded holds while the digest is the one it wrote.
_decoded: Final[dict[tuple[str, int], Shard]] = {}


class ShardProcessor(StatefulProcessor):
    """One key is one shard; a batch reads its mark, and writes it again, with a log entry or a snapshot."""

    def __init__(self, rules: ShardRules, topics: Mapping[Kind, str], checkpoint: str) -> None:
        self._rules = rules
        self._topics = topics
        self._checkpoint = checkpoint

    def init(self, handle: StatefulProcessorHandle) -> None:
        gc.set_threshold(_ALLOCATIONS)
        for key in [key for key in _decoded if key[0] != self._checkpoint]:
            del _decoded[key]  # of a job that ended in the same session
        # In each batch only the mark is read: writing bytes is fast, reading is one call for each value.
        self._mark = handle.getValueState("mark", "digest string, logged int")
        self._header = handle.getValueState("header", "blob binary")
        self._windows = handle.getMapState("windows", "start_ns long", "blob binary")
        self._log = handle.getMapState("log", "number int", "blob binary")

    def handleInputRows(  # noqa: N802 -- Spark's names
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ARG002, N803 -- the same
    ) -> Iterator[pd.DataFrame]:
        inputs = [row for frame in rows for row in _inputs(frame)]
        # Partitions come in any order; results depend on the order of records in each.
        inputs.sort(key=lambda one: one[:2])
        number = int(key[0])
        shard = self._shard(number)
        outputs = shard.begin(self._load_window)
        for one in inputs:
            outputs += shard.apply(one)
        ending, changes = shard.finish()
        if isinstance(changes, LogEntry):
            self._log.updateValue((shard.log_length - 1,), (changes.records,))
        else:
            self._keep(changes)
        self._mark.update((shard.digest.hex(), shard.log_length))
        _decoded[self._checkpoint, number] = shard
        yield self._frame([*outputs, *ending])

    def close(self) -> None:
        pass

    def _keep(self, changes: Snapshot) -> None:
        for start_ns, blob in changes.windows.items():
            if blob is None:
                self._windows.removeKey((start_ns,))
            else:
                self._windows.updateValue((start_ns,), (blob,))
        self._header.update((changes.header,))

    def _shard(self, number: int) -> Shard:
        digest, logged = self._mark.get() or ("", 0)
        # Taken out until the batch is through: a failure leaves it half changed.
        shard = _decoded.pop((self._checkpoint, number), None)
        if shard is None or shard.digest.hex() != digest:
            # A batch with a snapshot takes longer: no two shards take them at the same intervals.
            shard = Shard(self._rules, _blob(self._header.get()), LOG_BATCHES - number % LOG_BATCHES)
            # Entries from `logged` on are older than the snapshot.
            log = [_blob(self._log.getValue((entry,))) or b"" for entry in range(logged)]
            shard.replay(self._load_window, log)
            shard.digest = bytes.fromhex(digest)
        return shard

    def _load_window(self, start_ns: int) -> bytes | None:
        return _blob(self._windows.getValue((start_ns,)))

    def _frame(self, outputs: list[Output]) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "topic": [self._topics.get(o.kind) for o in outputs],
                "key": [o.key for o in outputs],
                "value": [o.value for o in outputs],
                "counter": [o.counter for o in outputs],
                "count": [o.amount for o in outputs],
            }
        )


def _blob(row: Any) -> bytes | None:
    return bytes(row[0]) if row else None


def _inputs(frame: pd.DataFrame) -> Iterator[Input]:
    columns = (frame[name].tolist() for name in INPUT_COLUMNS[1:])
    for partition, offset, appended_ms, key, value in zip(*columns, strict=True):
        yield Input(partition, offset, appended_ms * _MS, key or b"", value or b"")
