"""The results of a ping, fed with records made by hand."""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from by_hand import ledger_rows

from collectors.config.model import Endpoint
from collectors.config.units import Step
from collectors.contract.record_codec import encode
from collectors.contract.records import SECOND_NS
from collectors.probe.publisher import header_for
from deploy.ping import files, samples
from deploy.ping.execution import PingRequest, path_of
from deploy.ping.results import PingResults

_PEER = Endpoint(url=("amqp://127.0.0.1:5672",))
_REQUEST = PingRequest(
    sender=_PEER, receiver=_PEER, address="x", receive_address="x", rate=(Step(10.0, 10.0, None),),
    arrivals="constant", size=(64, 64), count=None, duration_ns=None, ttl_ns=SECOND_NS, settle_ns=SECOND_NS,
    presettled=False, durable=False, priority=4, credit=10, connect_seconds=1.0,
)  # fmt: skip


def _fed() -> tuple[PingResults, int]:
    """A second's ledger in two records, after a first revision in one."""
    second = time.time_ns() // SECOND_NS - 5
    path = path_of(_REQUEST)
    results = PingResults(path, keep_samples=True)
    header = header_for(path, "sender", "sender-0", 7, second * SECOND_NS)
    about: dict[str, Any] = {"kind": "ledger", "stream": header.run, "second": second, "due": 6}
    told = [
        (0, [(0, 6, "unsettled")]),
        (1, [(0, 2, "accepted"), (2, 1, "released")]),
        (1, [(3, 3, "accepted")]),
    ]
    for number, (revision, runs) in enumerate(told):
        record = header._replace(number=number, revision=revision, **about)
        results.take(encode(record, ledger_rows(runs)), "ping")
    return results, second


def test_rates_of_a_ledger_in_parts(tmp_path: Path) -> None:
    """What was due is counted once, what was sent over all parts of the highest revision."""
    results, second = _fed()
    files.write_rate_log(tmp_path / "rates", results)
    with (tmp_path / "rates").open() as lines:
        assert list(csv.DictReader(lines)) == [
            {"second": str(second), "due": "6", "sent": "6", "received": "0", "unsent": "0"}
        ]


def test_samples_of_a_ledger_in_parts(tmp_path: Path) -> None:
    """Each number stands there once, with the outcome told last."""
    results, _ = _fed()
    samples.write_samples(tmp_path / "samples", results)
    found = pq.read_table(tmp_path / "samples").to_pydict()
    assert found["seq"] == list(range(6))
    assert found["outcome"] == ["accepted", "accepted", "released", "accepted", "accepted", "accepted"]
