"""A shard: many paths' accounting, kept together. Nothing of Spark: bytes in, bytes out."""

from __future__ import annotations

import hashlib
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from collectors.paths import Rules
from collectors.record_codec import decode
from collectors.records import BadRecord
from collectors.topics import SAMPLES
from streaming import rows
from streaming.accounting import PathState
from streaming.outputs import Input, Output, dead_letter
from streaming.packing import pack, unpack
from streaming.shard_windows import ShardWindows, WindowLoader

_FORGET_NS: Final = SAMPLES.retention_ms * 1_000_000
# The sweep comes later: whether a path was forgotten must not depend on which other paths share its shard.
_SWEEP_NS: Final = _FORGET_NS + 3_600_000_000_000
_APPENDED: Final = struct.Struct("<q")
_POSITION: Final = struct.Struct("<iq")
MAX_PATHS: Final = 10_000  # of one shard: names made up by someone must not fill the memory
COUNTED: Final = ("samples", "repeats", "warmup", "before_start", "beyond_horizon")
_INDEX: Final = ""  # no path has this name


@dataclass(frozen=True, slots=True)
class ShardRules:
    """The config's rules by path, and those of paths it does not know."""

    default: Rules
    by_path: Mapping[str, Rules] = field(default_factory=dict)

    def of(self, path: str) -> Rules:
        return self.by_path.get(path, self.default)


@dataclass(frozen=True, slots=True)
class Changes:
    """What the state store has to take over after a batch; a window that is None is removed."""

    header: bytes
    windows: dict[int, bytes | None]


class Shard:
    """`begin`, then `apply` for each record in order, then `finish`: once for each batch.

    A path's state is decoded when its first record comes and stays so; others stay the bytes they were.
    """

    def __init__(self, rules: ShardRules, header: bytes | None) -> None:
        self.header = header
        self._rules = rules
        self._stored = unpack(header) if header else {}
        self._windows = ShardWindows(self._stored.pop(_INDEX, None))
        self._states: dict[str, PathState] = {}
        self._appended_ns = {path: _APPENDED.unpack_from(blob)[0] for path, blob in self._stored.items()}
        self._touched: set[str] = set()  # of this batch, as the counts are
        self._counts: Counter[str] = Counter()
        self._digest = hashlib.blake2b(digest_size=16)

    def begin(self, load: WindowLoader) -> None:
        """Before a batch: where windows come from now."""
        self._windows.load = load
        self._digest = hashlib.blake2b(self._windows.digest, digest_size=16)
        self._counts.clear()

    def apply(self, one: Input) -> list[Output]:
        self._digest.update(_POSITION.pack(one.partition, one.offset))
        try:
            record = decode(one.value)
        except BadRecord as bad:
            return [dead_letter(one, bad.reason, bad.detail)]
        path = record.header.path
        if not path or path.encode() != one.key:
            detail = (
                f"the record is of path {path[:200]!r} and its key is another: its partition may be wrong"
            )
            return [dead_letter(one, "alien", detail)]
        if path not in self._appended_ns and len(self._appended_ns) >= MAX_PATHS:
            return [
                dead_letter(one, "paths", f"the shard has {MAX_PATHS} paths already; give it more shards")
            ]
        state = self._state(path, one.append_ns)
        found = [Output("windows", one.key, row) for row in state.apply(record, one.append_ns)]
        if state.rejection is not None:
            found.append(dead_letter(one, state.rejection.reason, state.rejection.detail))
        return found

    def finish(self) -> tuple[list[Output], Changes]:
        """After a batch: live rows and counts, and what has to be stored."""
        outputs: list[Output] = []
        for path in self._touched:
            state = self._states[path]
            live = state.live()
            if live is not None:
                outputs.append(Output("live", path.encode(), rows.encode(live)))
            for start_ns, blob in state.dirty_windows().items():
                self._windows.put(start_ns, path, blob)
            for start_ns in state.forgotten_windows():
                self._windows.drop(start_ns, path)
            self._stored[path] = _APPENDED.pack(self._appended_ns[path]) + state.dump_header()
            self._counts.update(state.counters)
        outputs += [
            Output("count", None, None, name, self._counts[name]) for name in COUNTED if self._counts[name]
        ]
        self._touched = set()
        newest_ns = max(self._appended_ns.values(), default=0)
        for path in [p for p, at_ns in self._appended_ns.items() if newest_ns - at_ns > _SWEEP_NS]:
            self._forget(path)
        windows = self._windows.changes()
        self._windows.digest = self._digest.digest()
        self.header = pack({_INDEX: self._windows.encode(), **self._stored})
        return outputs, Changes(self.header, windows)

    @property
    def digest(self) -> bytes:
        """Of all records taken in, in their batches: shards of one digest hold the same."""
        return self._windows.digest

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
        if path not in self._touched:
            self._touched.add(path)
            self._counts.subtract(state.counters)
        return state

    def _forget(self, path: str) -> None:
        self._windows.drop_path(path)
        for kept in (self._states, self._stored, self._appended_ns):
            kept.pop(path, None)
        self._touched.discard(path)
