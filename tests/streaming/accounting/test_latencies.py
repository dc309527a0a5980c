"""The measures of a window, however its messages come, against plain lists and the hdrhistogram package."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st
from writing import Path, ns

from streaming.accounting import samples
from streaming.accounting.latencies import JITTER, KINDS, Latencies
from streaming.histogram import HIGHEST_NS

quick = settings(max_examples=80)
# From some ns to a day: within a bucket each, over few of them, and over all.
times = st.one_of(
    st.integers(0, 5_000), st.integers(2_000_000, 2_100_000), st.integers(-(10**9), 10**14), st.just(1 << 55)
)
batches = st.lists(
    st.tuples(st.integers(0, JITTER), st.lists(st.tuples(times, times, times), min_size=1, max_size=60)),
    max_size=6,
)


def package(values: list[int]) -> Any:
    found = HdrHistogram(1, HIGHEST_NS, 3)
    for value in values:
        assert found.record_value(min(max(value, 0), HIGHEST_NS))
    return found


@quick
@given(batches)
def test_measures_are_those_of_all_values_one_by_one(parts: list[tuple[int, list[Any]]]) -> None:
    """Sums exactly, histograms bucket by bucket, whichever measures a part has and however it spreads."""
    ours = Latencies()
    plain: list[list[int]] = [[] for _ in range(KINDS)]
    for first, values in parts:
        rows = np.array(values, np.int64).T[first:].copy()
        for number, row in enumerate(rows, first):
            plain[number] += row.tolist()
        ours.record(rows, first)
    for number in range(KINDS):
        told, values = ours.totals[number], plain[number]
        assert told.count == len(values)
        assert (told.total, told.squares) == (sum(values), sum(value * value for value in values))
        assert (told.least, told.largest) == ((min(values), max(values)) if values else (0, 0))
        counted = [abs(value) for value in values] if number == JITTER else values
        keys, counts = ours.histogram(number).pairs()
        theirs = package(counted)
        assert dict(zip(keys.tolist(), counts.tolist(), strict=True)) == {
            at: theirs.get_count_at_index(at)
            for at in range(theirs.counts_len)
            if theirs.get_count_at_index(at)
        }
    again = Latencies.load(*ours.dump())
    assert again.for_row() == ours.for_row()
    for latency, values in zip(ours.for_row()[:2], plain, strict=False):
        if latency is None:
            assert not values
            continue
        mean = Fraction(sum(values), len(values))
        assert latency["mean_ns"] == math.floor(mean + Fraction(1, 2))
        assert latency["std_ns"] == math.isqrt(math.floor(sum((v - mean) ** 2 for v in values) / len(values)))
        assert HdrHistogram.decode(latency["hdr"]).get_total_count() == len(values)


@quick
@given(st.lists(st.integers(-1_000, 9_000_000), min_size=1, max_size=200), st.sampled_from([0.0, 1e9]))
def test_few_latencies_are_shown_live_as_many_are(latencies_us: list[int], waited: float) -> None:
    """Sorted or counted, a live row says the same, even of messages that waited for half a life."""
    sent = [1.0 + 0.004 * place for place in range(len(latencies_us))]
    latency = [each / 1e6 for each in latencies_us]

    def live() -> Any:
        path = Path()
        sender, receiver = path.end("sender"), path.end("receiver")
        sender.ledger(1, [(0, len(sent), "accepted")], 2.05)
        receiver.received(sender, 1, range(len(sent)), 2.05, sent=sent, latency=latency, waited=waited)
        return path.state.live()

    shown = live()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples, "_FEW", 0)
        assert live() == shown
    response = [ns(at + delay) - ns(at - waited) for at, delay in zip(sent, latency, strict=True)]
    assert shown["response"]["max"] == max(0, *response)
    assert shown["response"]["mean"] == math.floor(Fraction(sum(response), len(response)) + Fraction(1, 2))
