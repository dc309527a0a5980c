"""The soak's audit: it agrees with rows that are right, and names each statement that is not."""

from __future__ import annotations

import json
from typing import Any

import _audit
import pytest
from by_hand import ledger_rows, received_rows

from collectors.contract.record_codec import encode
from collectors.contract.records import Header

SECOND = 1_000_000_000
HEADER: dict[str, Any] = {
    "mesh": "m", "path": "p", "address": "a", "source": "s", "target": "t", "role": "sender", "name": "s-0",
    "run": "0" * 16, "observed_from_ns": 0, "senders": 1, "receivers": 1, "number": 0, "frontier_ns": 0,
    "stream": "0" * 16, "second": 100,
}  # fmt: skip


def _ledger(revision: int, *runs: Any) -> bytes:
    return encode(Header(**HEADER, kind="ledger", revision=revision), ledger_rows(runs))


def _received(*numbers: int) -> bytes:
    header = Header(**{**HEADER, "role": "receiver"}, kind="received")
    at = [100 * SECOND + n for n in numbers]
    return encode(header, received_rows(numbers, at, at, at, [None] * len(numbers), [0] * len(numbers)))


# 0 arrived, 1 was refused, 2 arrived although refused, 3 is missing, 4 arrived and stands in no ledger.
RECORDS = [
    _ledger(1, (0, 1, "accepted"), (1, 2, "released"), (3, 1, "accepted")),
    _ledger(0, (0, 4, "unsettled")),  # an older revision that comes late changes nothing
    _received(0, 2, 4),
    _received(2),
    b"junk",
]
CLASSES = {"received": 3, "refused": 1, "lost": 1, "unobserved": 0}
ROW = {
    "path": "p",
    "window_start_ns": 100 * SECOND,
    "window_ns": 2 * SECOND,
    "revision": 1,
    "flags": [],
    "sent": 5,
}


def _found(network: tuple[tuple[int, int], ...], **changed: Any) -> list[str]:
    records, junk = _audit.read_samples(RECORDS)
    assert junk == 1
    older = {**ROW, "revision": 0, "classes": dict.fromkeys(CLASSES, 0)}
    rows = [older, {**ROW, "classes": CLASSES, **changed}, older]
    newest = _audit.newest_rows(json.dumps(row).encode() for row in rows)
    disturbed = _audit.Disturbed(network, ())
    return _audit.faults_of("p", records["p"], newest["p"], disturbed, 8 * SECOND)


def test_rows_that_are_right_are_left_alone() -> None:
    """A loss is right where the network was broken until the messages' deadline."""
    assert _found(((109 * SECOND, 111 * SECOND),)) == []


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, ["1 lost although the network was left alone"]),
        ({"sent": 6}, ["sent 6, by the records 5", "classes", "1 lost although"]),
        ({"classes": {**CLASSES, "received": 4, "lost": 0}}, ["received 4, by the records 3"]),
        ({"classes": {**CLASSES, "refused": 2, "lost": 0}}, ["refused 2, by the records 1"]),
        ({"classes": {**CLASSES, "unobserved": 1, "lost": 0}}, ["1 unobserved although the receivers"]),
        (
            {"window_start_ns": 102 * SECOND},
            ["window 100 (no flags): received 0, by the records 3", "sent 5, by the records 0"],
        ),
    ],
)
def test_each_statement_that_is_wrong_is_told(changed: dict[str, Any], told: list[str]) -> None:
    """With the window it is of."""
    found = _found((), **changed)
    for text in told:
        assert any(text in each for each in found), found


def test_counters_that_differ_from_rows_are_told() -> None:
    """Class by class."""
    rows = {"sent": 5, **CLASSES}
    assert _audit.counters_differ("p", rows, CLASSES) == []
    assert _audit.counters_differ("p", rows, {**CLASSES, "lost": 3}) == [
        "p: the exporter counts 3 lost, the rows 1"
    ]
