"""Records of five topics as bytes: read, fed to the groups in order; what cannot be read is put aside."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from collectors.contract import attribution_rows, events, telemetry, window_rows
from collectors.contract.path_telemetry import PATH_ADDRESS, PATH_LINK
from collectors.contract.telemetry import BadTelemetry
from collectors.contract.topics import BROKER, EVENTS, LIVE, MAX_BATCH_BYTES, ROUTER, WINDOWS, Topic
from streaming.attribution.groups import BegunAnew, FullError, Groups

TOPICS: Final = (WINDOWS, LIVE, ROUTER, BROKER, EVENTS)  # kept records tell a topic by its place here
_BY_SUFFIX: Final = {topic.suffix: topic for topic in TOPICS}

# The entities that histories are made of, beside records of a mesh as a whole; others are not even unpacked.
_USED: Final = {
    ROUTER.suffix: frozenset({PATH_ADDRESS.encode(), PATH_LINK.encode(), b"node"}),
    BROKER.suffix: frozenset({b"broker", b"queue", b"address", b"jvm"}),
}
_ENTITY: Final = re.compile(rb'"target":"[^"\\]+","entity":"(\w+)"')
_HEAD_BYTES: Final = 4_096

# Why a record is put aside: it is not what its topic holds (the topic's name), its key is not its path, there
# is no room for its mesh, it could not be taken in; and a row that is too long for its topic.
ALIEN, GROUPS, FAILED, TOO_LONG = "alien", "groups", "failed", "oversized"
BEGUN_ANEW: Final = "state"  # told in the same way: a group that lost what it knew
REASONS: Final = (*_BY_SUFFIX, ALIEN, GROUPS, FAILED, TOO_LONG, BEGUN_ANEW)

# A job that is rebuilt writes the windows of a day again; polls of that time are forgotten.
HORIZON_NS: Final = 3_600 * 10**9
BEYOND: Final = "beyond_horizon"
_START: Final = b'"window_start_ns":'
_START_WITHIN: Final = 64  # bytes from the end: keys are sorted, and it is the last one
_ROW_BYTES: Final = MAX_BATCH_BYTES - 4_096  # less what Kafka puts around it

_ENTRY: Final = struct.Struct("<BqII")  # topic, append time, lengths of key and value


class Record(NamedTuple):
    """A record of Kafka's; sorted, they are in the order in which they are fed."""

    append_ns: int
    topic: str  # its suffix
    partition: int
    offset: int
    key: bytes
    value: bytes


class Refusal(NamedTuple):
    """A record that was put aside."""

    record: Record
    reason: str
    detail: str


class LogError(ValueError):
    """The log of records is damaged."""


@dataclass(slots=True)
class Taken:
    """What came of a batch."""

    rows: list[tuple[bytes, bytes]] = field(default_factory=list)  # key and value
    refusals: list[Refusal] = field(default_factory=list)
    begun_anew: list[BegunAnew] = field(default_factory=list)
    used: list[Record] = field(default_factory=list)  # to be logged
    ignored: Counter[str] = field(default_factory=Counter)


class Intake:
    """Takes batches in; after a restart a batch is replayed from the log of what was used of it."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def take(self, batch: Iterable[Record]) -> Taken:
        """Feed a batch in order, then give the groups their turn."""
        taken = Taken()
        ordered = sorted(batch)
        newest = {record.key: record for record in ordered if record.topic == LIVE.suffix}
        for record in ordered:
            if record.topic == LIVE.suffix and newest[record.key] is not record:
                continue  # of live rows the last one wins
            if _is_unused(record):
                continue
            if record.topic == WINDOWS.suffix and _is_old(record):
                taken.ignored[BEYOND] += 1
            elif (refusal := self._feed(record)) is not None:
                taken.refusals.append(refusal)
            else:
                taken.used.append(record)
        for row in self._groups.turn():
            key, value = row["path"].encode(), attribution_rows.encode(row)
            if len(key) + len(value) > _ROW_BYTES:
                made = Record(row["made_ns"], "attribution", 0, 0, key, value)
                detail = f"a row of {len(value)} bytes, for a topic that takes {_ROW_BYTES}"
                taken.refusals.append(Refusal(made, TOO_LONG, detail))
                continue
            taken.rows.append((key, value))
        taken.begun_anew = self._groups.begun_anew()
        return taken

    def replay(self, log: bytes) -> None:
        """Take in again what was used of a batch; its rows were given out when it came."""
        try:
            for record in _decode_log(log):
                self._feed(record)
        except LogError as error:
            self._groups.begin_anew(str(error))
        self._groups.turn()

    def _feed(self, record: Record) -> Refusal | None:
        try:
            self._read(record)
        except FullError as error:
            return Refusal(record, GROUPS, str(error))
        except _AlienError as error:
            return Refusal(record, ALIEN, str(error))
        except (BadTelemetry, ValueError) as error:
            return Refusal(record, record.topic, str(error))
        except Exception as error:  # noqa: BLE001 -- the query would fail of it again and again
            return Refusal(record, FAILED, f"{type(error).__name__}: {error}")
        return None

    def _read(self, record: Record) -> None:
        groups, at_ns = self._groups, record.append_ns
        match _BY_SUFFIX[record.topic]:
            case topic if topic is WINDOWS:
                window = window_rows.decode_window(record.value)
                _check_key(record, window["path"])
                groups.feed_window(window, at_ns)
            case topic if topic is LIVE:
                live = window_rows.decode_live(record.value)
                _check_key(record, live["path"])
                groups.feed_live(live, at_ns)
            case topic if topic is EVENTS:
                groups.feed_event(events.decode(record.value), at_ns)
            case topic:
                groups.feed_poll(topic, telemetry.decode(record.value), at_ns)


class _AlienError(ValueError):
    """A row whose key is not its path: of live rows, another path's would be left out for it."""


def _check_key(record: Record, path: str) -> None:
    if record.key != path.encode():
        raise _AlienError(f"the row is of path {path[:200]!r} and its key is another")


def _is_unused(record: Record) -> bool:
    """Returns whether it is a poll of an entity that says nothing of hops, by its first bytes."""
    used = _USED.get(record.topic)
    found = _ENTITY.search(record.value, 0, _HEAD_BYTES) if used else None
    return found is not None and found[1] not in (used or ())


def _is_old(record: Record) -> bool:
    """Returns whether it is the row of a window whose polls are forgotten, without reading all of it."""
    _, found, rest = record.value[-_START_WITHIN:].rpartition(_START)
    digits = rest.rstrip(b"}")
    return bool(found) and digits.isdigit() and record.append_ns - int(digits) > HORIZON_NS


def encode_log(records: Iterable[Record]) -> bytes:
    """Returns the records without their places in Kafka."""
    parts: list[bytes] = []
    for one in records:
        place = TOPICS.index(_BY_SUFFIX[one.topic])
        parts += (_ENTRY.pack(place, one.append_ns, len(one.key), len(one.value)), one.key, one.value)
    return b"".join(parts)


def _decode_log(data: bytes) -> Iterator[Record]:
    """Yields the records, in their order. Raises LogError where these bytes are no log."""
    at = number = 0
    while at < len(data):
        try:
            place, append_ns, key_length, value_length = _ENTRY.unpack_from(data, at)
            topic: Topic = TOPICS[place]
        except (struct.error, LookupError) as error:
            raise LogError(f"the log of records is damaged: {error}") from None
        value_at = at + _ENTRY.size + key_length
        at = value_at + value_length
        if at > len(data):
            raise LogError("the log of records is cut off")
        key, value = data[value_at - key_length : value_at], data[value_at:at]
        yield Record(append_ns, topic.suffix, 0, number, key, value)
        number += 1
