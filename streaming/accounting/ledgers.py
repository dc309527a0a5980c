"""Joins what records say of the outcomes of one second of a sender."""

from __future__ import annotations

import numpy as np

from collectors.contract.records import Ledger


def merged(newer: Ledger, known: Ledger) -> Ledger:
    """Returns the newer outcomes from the newer one's first number to its last, the known ones elsewhere.

    A second whose outcomes change too often for one record comes in several, each with its numbers.
    """
    if not len(newer.first_seq):
        return known
    if not len(known.first_seq):
        return newer
    first, end = int(newer.first_seq[0]), int(newer.first_seq[-1] + newer.length[-1])
    known_end = int(known.first_seq[-1] + known.length[-1])
    if first <= int(known.first_seq[0]) and known_end <= end:  # the usual case
        return newer
    parts = [_cut(known, 0, first), newer, _cut(known, end, known_end)]
    return Ledger(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _cut(rows: Ledger, low: int, high: int) -> Ledger:
    """Returns the outcomes of the numbers from low to high - 1."""
    first = np.maximum(rows.first_seq, low)
    length = np.minimum(rows.first_seq + rows.length, high) - first
    some = length > 0
    return Ledger(first[some], length[some], rows.outcome[some])
