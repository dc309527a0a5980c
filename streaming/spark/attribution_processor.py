"""Spark's StatefulProcessor around the attribution: its one key holds all groups."""

from __future__ import annotations

import gc
import hashlib
import logging
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from collectors.contract.topics import ATTRIBUTION, DEAD_LETTERS
from streaming.attribution.engine import Attribution
from streaming.attribution.groups import Groups, Make
from streaming.attribution.intake import BEGUN_ANEW, Intake, Record, Refusal, Taken, encode_log
from streaming.attribution.places import Place
from streaming.shard.outputs import NEWEST, Input, dead_letter

_log: Final = logging.getLogger("inflight.stream")

COLUMNS: Final = ("all", "topic", "partition", "offset", "appended_ms", "key", "value")
LOG_BATCHES: Final = 24  # from one snapshot to the next: encoding all that is known takes long
LOG_BYTES: Final = 32 << 20  # they are taken in again at a restart
_MS: Final = 1_000_000
_ALLOCATIONS: Final = 100_000  # from one search for garbage to the next: nearly all objects stay
_PLACE: Final = struct.Struct("<iq")


@dataclass(slots=True)
class _Kept:
    """What a worker knows between batches, while the digest is the one in the state store."""

    groups: Groups
    intake: Intake
    stored: set[str]  # groups with a snapshot
    digest: bytes = b""  # of all records taken in, by batches
    logged: int = 0  # batches since the snapshot
    log_bytes: int = 0


_kept: Final[dict[str, _Kept]] = {}  # by checkpoint


@dataclass(slots=True)
class _Outputs:
    """Rows for topics, and counts of the batch, as columns."""

    prefix: str
    rows: list[tuple[str | None, bytes | None, bytes | None, str | None, int | None]] = field(
        default_factory=list
    )

    def add(self, taken: Taken, newest_ns: int) -> None:
        counts = Counter(taken.ignored)
        self.rows += [(ATTRIBUTION.name(self.prefix), key, value, None, None) for key, value in taken.rows]
        for refusal in taken.refusals:
            counts[refusal.reason] += 1
            self._letter(refusal)
        for group, why in taken.begun_anew:
            text = f"the attribution of the group {group} begins anew: {why}"
            _log.error("%s", text)
            self._letter(Refusal(Record(newest_ns, "", 0, 0, b"", b""), BEGUN_ANEW, text))
            counts[BEGUN_ANEW] += 1
        numbers = [*sorted(counts.items()), (NEWEST, newest_ns // _MS)]
        self.rows += [(None, None, None, name, number) for name, number in numbers if number]

    def _letter(self, refusal: Refusal) -> None:
        one, detail = refusal.record, refusal.detail
        if one.topic:
            detail = f"{self.prefix}.{one.topic}: {detail}"
        put_aside = Input(one.partition, one.offset, one.append_ns, one.key, one.value)
        letter = dead_letter(put_aside, refusal.reason, detail)
        self.rows.append((DEAD_LETTERS.name(self.prefix), letter.key, letter.value, None, None))

    def frame(self) -> pd.DataFrame:
        names = ("topic", "key", "value", "counter", "count")
        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(names)
        return pd.DataFrame(dict(zip(names, map(list, columns), strict=True)))


class AttributionProcessor(StatefulProcessor):
    """A batch reads the mark only; it stores what it used, and now and then a snapshot in place of that."""

    def __init__(
        self,
        places: Mapping[str, Place],
        prefix: str,
        checkpoint: str,
        make: Make = Attribution,
        log_batches: int = LOG_BATCHES,
    ) -> None:
        self._places, self._prefix, self._checkpoint, self._make = places, prefix, checkpoint, make
        self._log_batches = log_batches

    def init(self, handle: StatefulProcessorHandle) -> None:
        gc.set_threshold(_ALLOCATIONS)
        for other in _kept.keys() - {self._checkpoint}:
            del _kept[other]  # of a job that ended in the same session
        self._mark = handle.getValueState("mark", "digest string, logged int")
        self._states = handle.getMapState("groups", "name string", "blob binary")
        self._log = handle.getMapState("log", "number int", "blob binary")

    def handleInputRows(  # noqa: N802 -- Spark's names
        self,
        key: Any,  # noqa: ARG002 -- there is one
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ARG002, N803 -- Spark's names
    ) -> Iterator[pd.DataFrame]:
        batch = [record for frame in rows for record in self._records(frame)]
        kept = self._known()
        taken = kept.intake.take(batch)
        kept.digest = _digest(kept.digest, batch)
        self._store(kept, encode_log(taken.used))
        self._mark.update((kept.digest.hex(), kept.logged))
        _kept[self._checkpoint] = kept
        outputs = _Outputs(self._prefix)
        outputs.add(taken, max((record.append_ns for record in batch), default=0))
        yield outputs.frame()

    def close(self) -> None:
        pass

    def _records(self, frame: pd.DataFrame) -> Iterator[Record]:
        columns = (frame[name].tolist() for name in COLUMNS[1:])
        for topic, partition, offset, appended_ms, key, value in zip(*columns, strict=True):
            suffix = topic.removeprefix(f"{self._prefix}.")
            yield Record(appended_ms * _MS, suffix, partition, offset, key or b"", value or b"")

    def _known(self) -> _Kept:
        digest, logged = self._mark.get() or ("", 0)
        # Taken out until the batch is through: a failure leaves it half changed.
        kept = _kept.pop(self._checkpoint, None)
        if kept is None or kept.digest.hex() != digest:
            kept = self._restored(logged)
            kept.digest = bytes.fromhex(digest)
        return kept

    def _restored(self, logged: int) -> _Kept:
        groups = Groups(self._places, self._make)
        kept = _Kept(groups, Intake(groups), stored=set(), logged=logged)
        for (name,), (blob,) in self._states.iterator():
            groups.restore(name, bytes(blob))
            kept.stored.add(name)
        for number in range(logged):  # entries from `logged` on are older than the snapshot
            row = self._log.getValue((number,))
            used = bytes(row[0]) if row else b""
            kept.intake.replay(used)
            kept.log_bytes += len(used)
        return kept

    def _store(self, kept: _Kept, used: bytes) -> None:
        if kept.logged < self._log_batches and kept.log_bytes + len(used) <= LOG_BYTES:
            self._log.updateValue((kept.logged,), (used,))
            kept.logged += 1
            kept.log_bytes += len(used)
            return
        states = kept.groups.states()
        for name, blob in states.items():
            self._states.updateValue((name,), (blob,))
        for name in kept.stored - states.keys():
            self._states.removeKey((name,))
        kept.stored, kept.logged, kept.log_bytes = set(states), 0, 0


def _digest(before: bytes, batch: Iterable[Record]) -> bytes:
    places = b"".join(
        [record.topic.encode() + _PLACE.pack(record.partition, record.offset) for record in sorted(batch)]
    )
    return hashlib.blake2b(before + places, digest_size=16).digest()
