"""A shard: the accounting of many paths, kept together. Takes bytes, gives bytes."""

from __future__ import annotations

import hashlib
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from collectors.config.paths import Rules
from collectors.contract import window_rows
from collectors.contract.record_codec import decode
from collectors.contract.records import BadRecord
from collectors.contract.topics import SAMPLES
from streaming.accounting import PathState
from streaming.shard import log as shard_log
from streaming.shard.outputs import NEWEST, Input, Output, dead_letter
from streaming.shard.packing import pack, unpack
from streaming.shard.windows import ShardWindows, WindowLoader

_FORGET_NS: Final = SAMPLES.retention_ms * 1_000_000
# Sweeping comes later: whether a path was forgotten must not depend on which other paths share its shard.
_SWEEP_NS: Final = _FORGET_NS + 3_600_000_000_000
_APPENDED: Final = struct.Struct("<q")
_POSITION: Final = struct.Struct("<iq")
MAX_PATHS: Final = 10_000  # of one shard: names made up by someone must not fill the memory
LOG_BATCHES: Final = 16
_GRACE_BATCHES: Final = 4  # a snapshot may come so much later, not to be taken where windows end
LOG_BYTES: Final = 1 << 20  # of records, for each batch of the log: they are taken in again at a restart
_INDEX: Final = ""  # no path has this name


@dataclass(frozen=True, slots=True)
class ShardRules:
    """The rules of the config by path, and those of paths that it does not know."""

    default: Rules
    by_path: Mapping[str, Rules] = field(default_factory=dict)

    def of(self, path: str) -> Rules:
        return self.by_path.get(path, self.default)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the state store is to take over, after which no log is needed; a window of None is removed."""

    header: bytes
    windows: dict[int, bytes | None]


@dataclass(frozen=True, slots=True)
class LogEntry:
    """What the state store is to put behind the newest snapshot: the batch's records as they came."""

    records: bytes


class Shard:
    """`begin`, then `apply` for each record in order, then `finish`: once for each batch.

    The state of a path is decoded when its first record comes, and stays so; of other paths it stays bytes.
    Encoding it takes as long as taking in a second of records. So snapshots are taken now and then; between
    them records are logged as they came, and taken in again after a restart.
    """

    def __init__(
        self, rules: ShardRules, header: bytes | None = None, log_batches: int = LOG_BATCHES
    ) -> None:
        """`header`: of the newest snapshot; `log_batches`: how many are logged until the next snapshot."""
        self.header = header
        self.digest = b""  # of all records taken in, by batches: shards with the same digest hold the same
        self._rules = rules
        self._log_batches = log_batches
        self._stored = unpack(header) if header else {}
        self._windows = ShardWindows(self._stored.pop(_INDEX, None))
        self._states: dict[str, PathState] = {}
        self._appended_ns = {path: _APPENDED.unpack_from(blob)[0] for path, blob in self._stored.items()}
        self._changed: set[str] = set()  # since the newest snapshot
        self.log_length = 0  # batches since then
        self._log_bytes = 0
        self._batch: list[Input] = []
        self._closed = False  # whether a window became final in the batch
        self._untold: list[Output] = []  # rows of the log that may never have been given out
        self._touched: set[str] = set()  # paths, in this batch
        self._counts: Counter[str] = Counter()

    def replay(self, load: WindowLoader, log: Sequence[bytes]) -> None:
        """Take in again what was logged since the header's snapshot, in order.

        Its rows were given out when it came, and are not given out again. But they may have been others where
        the rules have changed since, and by which rules a path was counted that is new since the snapshot is
        not known: rows of such paths are given out again. Readers that have them drop them as repeats.
        """
        self._windows.load = load
        for batch in log:
            for one in shard_log.decode(batch):
                window_rows = [found for found in self._apply(one) if found.kind == "windows"]
                if window_rows and self._is_anew(window_rows[0]):
                    self._untold += window_rows
                self._log_bytes += len(one.value)
        self.log_length = len(log)
        self._touched.clear()

    def _is_anew(self, row: Output) -> bool:
        path = (row.key or b"").decode()
        return path not in self._stored or self._states[path].is_anew

    def begin(self, load: WindowLoader) -> list[Output]:
        """Begin a batch; `load` reads windows. Returns rows of the log that are to be given out."""
        self._windows.load = load
        self._counts.clear()
        untold, self._untold = self._untold, []
        return untold

    def apply(self, one: Input) -> list[Output]:
        """Take in a record; returns final rows and dead letters."""
        self._batch.append(one)
        return self._apply(one)

    def _apply(self, one: Input) -> list[Output]:
        try:
            record = decode(one.value)
        except BadRecord as bad:
            return [self._put_aside(one, bad.reason, bad.detail)]
        path = record.header.path
        if not path or path.encode() != one.key:
            detail = (
                f"the record is of path {path[:200]!r} and its key is another: its partition may be wrong"
            )
            return [self._put_aside(one, "alien", detail)]
        if path not in self._appended_ns and len(self._appended_ns) >= MAX_PATHS:
            detail = f"the shard has {MAX_PATHS} paths already; give the job more lanes"
            return [self._put_aside(one, "paths", detail)]
        state = self._state(path, one.append_ns)
        found = [Output("windows", one.key, row) for row in state.apply(record, one.append_ns)]
        self._closed = self._closed or bool(found)
        if state.rejection is not None:
            found.append(self._put_aside(one, state.rejection.reason, state.rejection.detail))
        return found

    def _put_aside(self, one: Input, reason: str, detail: str) -> Output:
        self._counts[reason] += 1
        return dead_letter(one, reason, detail)

    def finish(self) -> tuple[list[Output], Snapshot | LogEntry]:
        """End a batch; returns live rows and counts, and what is to be stored."""
        outputs: list[Output] = []
        for path in self._touched:
            state = self._states[path]
            live = state.live()
            if live is not None:
                outputs.append(Output("live", path.encode(), window_rows.encode(live)))
            self._counts.update(state.counters)
        self._touched.clear()
        batch, self._batch = self._batch, []
        newest_ns = max((one.append_ns for one in batch), default=0)
        numbers = [*sorted(self._counts.items()), (NEWEST, newest_ns // 1_000_000)]
        outputs += [Output("count", None, None, name, number) for name, number in numbers if number]
        places = b"".join([_POSITION.pack(one.partition, one.offset) for one in batch])
        self.digest = hashlib.blake2b(self.digest + places, digest_size=16).digest()
        self.log_length += 1
        self._log_bytes += sum(len(one.value) for one in batch)
        # Batches in which windows end take longest: a snapshot waits for another batch.
        closed, self._closed = self._closed, False
        log_batches = self._log_batches + (min(self._log_batches, _GRACE_BATCHES) if closed else 0)
        if self.log_length <= log_batches and self._log_bytes <= log_batches * LOG_BYTES:
            return outputs, LogEntry(shard_log.encode(batch))
        return outputs, self._snapshot()

    def _snapshot(self) -> Snapshot:
        for path in self._changed:
            state = self._states[path]
            # Those of other rules may have the same starts: what is known of these comes after.
            for start_ns in state.forgotten_windows():
                self._windows.drop(start_ns, path)
            for start_ns, blob in state.dirty_windows().items():
                self._windows.put(start_ns, path, blob)
            self._stored[path] = _APPENDED.pack(self._appended_ns[path]) + state.dump_header()
        self._changed.clear()
        self.log_length = self._log_bytes = 0
        newest_ns = max(self._appended_ns.values(), default=0)
        for path in [p for p, at_ns in self._appended_ns.items() if newest_ns - at_ns > _SWEEP_NS]:
            self._forget(path)
        windows = self._windows.changes()
        self.header = pack({_INDEX: self._windows.encode(), **self._stored})
        return Snapshot(self.header, windows)

    def _state(self, path: str, append_ns: int) -> PathState:
        if append_ns - self._appended_ns.get(path, append_ns) > _FORGET_NS:
            self._forget(path)
        state = self._states.get(path)
        if state is None:
            stored = self._stored.get(path)

            def load(start_ns: int) -> bytes | None:
                return self._windows.get(start_ns, path)

            rules = self._rules.of(path)
            if stored:
                state = PathState.load(path, rules, stored[_APPENDED.size :], load)
            else:
                state = PathState(path, rules)
                state.keep_windows_with(load)
            self._states[path] = state
        self._appended_ns[path] = append_ns
        self._changed.add(path)
        if path not in self._touched:
            self._touched.add(path)
            self._counts.subtract(state.counters)
        return state

    def _forget(self, path: str) -> None:
        if path in self._touched:
            self._counts.update(self._states[path].counters)
            self._touched.discard(path)
        self._windows.drop_path(path)
        for kept in (self._states, self._stored, self._appended_ns):
            kept.pop(path, None)
        self._changed.discard(path)
