"""Columns of records from plain lists."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectors.contract.records import OUTCOMES, Bytes, Ints, Ledger, Outcome, Received


def received_rows(
    seq: Sequence[int] | Ints,
    intended_ns: Sequence[int] | Ints,
    sent_ns: Sequence[int] | Ints,
    received_ns: Sequence[int] | Ints,
    ipdv_ns: Sequence[int | None],
    flags: Sequence[int] | Bytes,
) -> Received:
    """Return the columns of a record of received messages."""
    return Received.of(
        np.asarray(seq, np.int64),
        np.asarray(intended_ns, np.int64),
        np.asarray(sent_ns, np.int64),
        np.asarray(received_ns, np.int64),
        np.asarray([v or 0 for v in ipdv_ns], np.int64),
        np.asarray([v is not None for v in ipdv_ns], np.bool_),
        np.asarray(flags, np.uint8),
    )


def ledger_rows(ranges: Sequence[tuple[int, int, Outcome]]) -> Ledger:
    """Return the columns of a ledger from ranges: (first number, length, outcome)."""
    return Ledger(
        np.asarray([r[0] for r in ranges], np.int64),
        np.asarray([r[1] for r in ranges], np.int64),
        np.asarray([OUTCOMES.index(r[2]) for r in ranges], np.uint8),
    )
