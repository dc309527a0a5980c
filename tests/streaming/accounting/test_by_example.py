"""The example of streaming/accounting-by-example.md: what the page says is what the accounting makes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest
from made_counts import Made

from collectors.config.paths import Rules
from collectors.contract import record_codec
from collectors.contract.records import FORMAT, OUTCOMES, SECOND_NS, Clock, Header, Ledger, Received
from collectors.contract.window_rows import LiveRow, decode_window
from collectors.probe.measure.arrivals import ROW, Arrivals
from streaming.accounting import Accountant
from streaming.histogram import decode as decode_histogram

PAGE: Final = Path(__file__).parents[3] / "streaming" / "accounting-by-example.md"
BLOCKS: Final = dict(re.findall(r"^```\w+ (\w+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL))
RULES: Final = Rules(5 * SECOND_NS, 10 * SECOND_NS, 60 * SECOND_NS, 900 * SECOND_NS)
T0_NS: Final = 1_769_860_800 * SECOND_NS  # 2026-01-31 12:00:00 UTC
LAST: Final = 17  # the number of the last record

Columns = dict[str, list[Any]]


def told_records() -> dict[tuple[str, int], tuple[dict[str, Any], Columns]]:
    """The records of the page by the writer's role and number: header and columns."""
    found: dict[tuple[str, int], tuple[dict[str, Any], Columns]] = {}
    columns: Columns = {}
    for line in BLOCKS["records"].splitlines():
        if line.startswith("{"):
            header, columns = json.loads(line), {}
            role = "sender" if header["kind"] == "ledger" else "receiver"
            found[role, header["number"]] = header, columns
        else:
            name, *values = line.split()
            columns[name] = [v if v in OUTCOMES else json.loads(v) for v in values]
    return found


def rows_of(header: dict[str, Any], columns: Columns) -> Received | Ledger:
    """The columns as rows of a record."""
    if header["kind"] == "ledger":
        outcomes = [OUTCOMES.index(outcome) for outcome in columns["outcome"]]
        first, length = (np.asarray(columns[name], np.int64) for name in ("first_seq", "length"))
        return Ledger(first, length, np.asarray(outcomes, np.uint8))
    sent_ns = header["second"] * SECOND_NS + np.asarray(columns["sent_ns"], np.int64)
    return Received.of(
        header.get("base", 0) + np.asarray(columns["seq"], np.int64),
        sent_ns - np.asarray(columns["delay_ns"], np.int64),
        sent_ns,
        sent_ns + np.asarray(columns["service_ns"], np.int64),
        np.asarray([value or 0 for value in columns["ipdv_ns"]], np.int64),
        np.asarray([value is not None for value in columns["ipdv_ns"]], np.bool_),
        np.asarray(columns["flags"], np.uint8),
    )


def all_records() -> list[tuple[int, bytes]]:
    """Those of the page, and those that it leaves out, with the frontier that each has."""
    ends = {run["role"]: run for run in map(json.loads, BLOCKS["run"].splitlines())}
    assert {run.pop("v") for run in ends.values()} == {FORMAT}
    told = told_records()
    found = []
    for number in range(LAST + 1):
        frontier_ns = T0_NS + number * SECOND_NS
        for role in ("sender", "receiver"):
            header, columns = told.pop((role, number), ({}, {}))
            alive = {"kind": "alive", "number": number, "frontier_ns": frontier_ns}
            fields = ends[role] | alive | {name: value for name, value in header.items() if name != "base"}
            fields["clock"] = {run: Clock(*pair) for run, pair in header.get("clock", {}).items()}
            record = Header(**fields)
            assert record.frontier_ns == frontier_ns
            rows = rows_of(header, columns) if header else None
            found.append((frontier_ns, record_codec.encode(record, rows)))
    assert not told
    return found


class Ran:
    """The example, taken in record by record."""

    def __init__(self) -> None:
        self.accountant = Accountant(lambda _: RULES)
        self.rows: list[bytes] = []
        self.made_at: list[int] = []  # the place of the record that made each row
        self.live: list[LiveRow] = []
        for place, (frontier_ns, record) in enumerate(all_records()):
            fed = self.accountant.feed(record, frontier_ns + SECOND_NS // 5, "east-west")
            assert fed.dead_letter is None
            self.rows += fed.rows
            self.made_at += [place] * len(fed.rows)
            self.live += self.accountant.live()


def test_the_records_are_the_pages() -> None:
    """Their headers letter by letter, and their columns as Arrow has them."""
    written = []
    for _, value in all_records():
        table = pa.ipc.open_stream(value).read_all()
        if table.num_rows:
            metadata = {key.decode(): text.decode().rstrip() for key, text in table.schema.metadata.items()}
            assert metadata["inflight.run"] in BLOCKS["run"].splitlines()
            columns = table.to_pydict()
            if "outcome" in columns:
                columns["outcome"] = [OUTCOMES[code] for code in columns["outcome"]]
            written.append((metadata["inflight"], columns))
    headers = [line for line in BLOCKS["records"].splitlines() if line.startswith("{")]
    assert [header for header, _ in written] == headers
    assert [columns for _, columns in written] == [columns for _, columns in told_records().values()]


@pytest.fixture(scope="module")
def ran() -> Ran:
    return Ran()


def without_histograms(row: bytes) -> dict[str, Any]:
    """The row as the page tells it; the histograms hold as many values as the row says."""
    found: dict[str, Any] = dict(decode_window(row))
    for name in ("response", "service"):
        latency = dict(found[name])
        assert decode_histogram(latency.pop("hdr")).count == latency["count"]
        found[name] = latency
    return found


def test_the_first_row_is_the_pages(ran: Ran) -> None:
    """All of its fields, made by the receiver's record at the deadline."""
    assert without_histograms(ran.rows[0]) == json.loads(BLOCKS["row"])
    assert ran.made_at[0] == 2 * 15 + 1


def test_the_revision_is_the_pages(ran: Ran) -> None:
    """The fields that differ from revision 0, and no others; there is no third row."""
    before, after = json.loads(BLOCKS["row"]), json.loads(BLOCKS["revision"])
    assert without_histograms(ran.rows[1]) == before | after
    assert all(before[name] != value for name, value in after.items())
    assert ran.made_at[1:] == [2 * 17 + 1]


def test_the_live_row_is_the_pages(ran: Ran) -> None:
    """After both have written up to 12:00:03, and not before."""
    told = json.loads(BLOCKS["live"])
    at_two, at_three = (ran.live[2 * second + 1] for second in (2, 3))
    assert {name: dict(at_three)[name] for name in told} == told
    assert at_two["suspect"] == 0


def test_the_exporter_counts_what_the_page_says(ran: Ran) -> None:
    """Each line of the page is one of /metrics."""
    made = Made()
    made.now_ns = T0_NS + 20 * SECOND_NS
    made.start()
    made.feed(*map(decode_window, ran.rows))
    assert BLOCKS["metrics"].splitlines()
    for line in BLOCKS["metrics"].splitlines():
        assert line in made.text().splitlines()


def test_a_probe_writes_the_pages_arrivals() -> None:
    """The receiver's code makes these columns and figures of the five messages and their times."""
    run = 0x4F2C8A1BE09D7735
    second_ns = T0_NS + SECOND_NS
    arrivals = [(0, 0, 0, 2), (4, 790, 800, 803), (4, 790, 800, 804)], [(3, 600, 600, 15_700)]
    receiver = Arrivals()
    for number, batch in zip((2, 17), arrivals, strict=True):
        rows = np.array(
            [
                (run, seq, *(second_ns + ms * 1_000_000 for ms in times), 256, 0, 1, 0)
                for seq, *times in batch
            ],
            ROW,
        )
        (group,), bad = receiver.groups(rows, ["A"])
        header, columns = told_records()["receiver", number]
        assert bad == 0
        assert (group.stream, group.second) == (header["stream"], header["second"])
        assert (group.body_bytes, group.rfc3550_ns, group.routes) == (
            header["body_bytes"],
            header["rfc3550_ns"],
            header["routes"],
        )
        expected = rows_of(header, columns)
        assert isinstance(expected, Received)
        assert group.rows.seq.tolist() == expected.seq.tolist()
        assert group.rows.service_ns.tolist() == expected.service_ns.tolist()
        assert group.rows.delay_ns.tolist() == expected.delay_ns.tolist()
        assert group.rows.ipdv_ns.tolist() == expected.ipdv_ns.tolist()
        assert group.rows.has_ipdv.tolist() == expected.has_ipdv.tolist()
        assert group.rows.flags.tolist() == expected.flags.tolist()
