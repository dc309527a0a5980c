"""State of a shard as an earlier program wrote it: this one reads it, and goes on as that one would have.

`kept_state.json.xz` holds histories of a simulated network: the state in the middle of each, the records that
come after, and the rows that they made. When the state's version goes up, write it anew:
`PYTHONPATH=.:tests:tests/streaming .venv/bin/python tests/streaming/shard/test_kept_state.py`.
"""

from __future__ import annotations

import base64
import json
import lzma
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from simulation import simulate
from simulation_parts import Knobs

from collectors.config.paths import Rules
from collectors.contract.record_codec import encode
from collectors.contract.records import SECOND_NS
from collectors.contract.window_rows import decode_window
from streaming.histogram import decode as decode_histogram
from streaming.shard.outputs import Input
from streaming.shard.shard import Shard, ShardRules, Snapshot

_KEPT: Final = Path(__file__).with_name("kept_state.json.xz")
_RULES: Final = ShardRules(Rules(2 * SECOND_NS, 3 * SECOND_NS, 8 * SECOND_NS, 60 * SECOND_NS))
_BATCH: Final = 5  # records
_HISTORIES: Final = {
    "quiet": Knobs(seed=1, rate=20),
    "lossy": Knobs(
        seed=2, rate=20, senders=2, lose=0.1, duplicate=0.1, refuse=0.1, late=0.1, reorder=True, foreign=True
    ),
    "troubled": Knobs(
        seed=7,
        rate=8,
        receivers=2,
        receiver_restarts="kill",
        sender_restarts="kill",
        spooled=True,
        detach=True,
        stands_still=True,
        declared_gap=True,
        repeat=0.2,
        late=0.1,
        lose=0.1,
        skew_ns=5_000_000,
    ),
}


@dataclass
class Kept:
    """What the state store holds of a shard."""

    header: bytes | None = None
    windows: dict[int, bytes] = field(default_factory=dict)
    log: list[bytes] = field(default_factory=list)


def topic(name: str) -> list[Input]:
    """The records of a history, in their order in Kafka."""
    return [
        Input(0, place, append_ns, b"p", encode(record.header, record.received or record.ledger))
        for place, (record, append_ns) in enumerate(simulate(_HISTORIES[name]).records)
    ]


def go_on(shard: Shard, kept: Kept, records: list[Input]) -> list[bytes]:
    """Takes the records in, in small batches; returns the final rows and revisions that they make."""
    rows = []
    for first in range(0, len(records), _BATCH):
        found = shard.begin(kept.windows.get)
        found += [output for one in records[first : first + _BATCH] for output in shard.apply(one)]
        _, changes = shard.finish()
        rows += [output.value for output in found if output.kind == "windows" and output.value]
        if isinstance(changes, Snapshot):
            kept.header, kept.log = changes.header, []
            for start, blob in changes.windows.items():
                if blob is None:
                    del kept.windows[start]
                else:
                    kept.windows[start] = blob
        else:
            kept.log.append(changes.records)
    return rows


def comparable(row: bytes) -> dict[str, Any]:
    """The row with its histograms unpacked: how well they are packed is zlib's business."""
    found: dict[str, Any] = dict(decode_window(row))
    for name in ("response", "service"):
        if found[name] is not None:
            buckets, counts = decode_histogram(found[name]["hdr"]).pairs()
            found[name] = {**found[name], "hdr": [buckets.tolist(), counts.tolist()]}
    return found


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)


def _text(data: bytes | None) -> str:
    return base64.b64encode(data or b"").decode()


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    """By history."""
    found: dict[str, Any] = json.loads(lzma.decompress(_KEPT.read_bytes()))
    return found


@pytest.mark.parametrize("name", _HISTORIES)
def test_state_of_an_earlier_program_is_gone_on_with(kept: dict[str, Any], name: str) -> None:
    """Its snapshot and log are read, and the records that follow make the rows that they made then."""
    told = kept[name]
    windows = {int(start): _bytes(blob) for start, blob in told["windows"].items()}
    store = Kept(_bytes(told["header"]), windows, [_bytes(batch) for batch in told["log"]])
    shard = Shard(_RULES, store.header, log_batches=2)
    shard.replay(store.windows.get, store.log)
    following = [Input(0, place, at, b"p", _bytes(value)) for place, at, value in told["following"]]
    rows = go_on(shard, store, following)
    assert [comparable(row) for row in rows] == [comparable(row.encode()) for row in told["rows"]]
    assert {row["revision"] for row in map(decode_window, rows)} > {0} or name == "quiet"


@pytest.mark.parametrize("name", _HISTORIES)
def test_state_is_written_as_an_earlier_program_wrote_it(kept: dict[str, Any], name: str) -> None:
    """The same records make the same bytes, so that an earlier program of the same version reads them."""
    told = kept[name]
    before, _ = halves(name)
    store = Kept()
    go_on(Shard(_RULES, log_batches=2), store, before)
    assert store.header == _bytes(told["header"])
    assert [_text(batch) for batch in store.log] == told["log"]
    assert sorted(map(str, store.windows)) == sorted(told["windows"])


def halves(name: str) -> tuple[list[Input], list[Input]]:
    """The records before and after the moment at which the state was kept: in the middle of a log."""
    records = topic(name)
    middle = len(records) // (2 * _BATCH) * _BATCH
    return records[:middle], records[middle:]


def write() -> None:
    """Write the file anew, by the program as it is."""
    found = {}
    for name in _HISTORIES:
        before, following = halves(name)
        store, shard = Kept(), Shard(_RULES, log_batches=2)
        go_on(shard, store, before)
        told = {
            "header": _text(store.header),
            "windows": {start: _text(blob) for start, blob in store.windows.items()},
            "log": [_text(batch) for batch in store.log],
            "following": [[one.offset, one.append_ns, _text(one.value)] for one in following],
        }
        rows = go_on(shard, store, following)
        found[name] = {**told, "rows": [row.decode() for row in rows]}
    _KEPT.write_bytes(lzma.compress(json.dumps(found).encode()))


if __name__ == "__main__":
    write()
