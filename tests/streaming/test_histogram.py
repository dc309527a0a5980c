"""Histograms against the hdrhistogram package, which shares no code with ours."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming import histogram
from streaming.exporter.decoded_histogram import cumulative
from streaming.histogram import HIGHEST_NS, BadHistogram, Histogram, decode, indexes

values = st.lists(
    st.one_of(
        st.integers(0, HIGHEST_NS),
        st.integers(0, 5_000),
        st.sampled_from([0, 1, 1_023, 1_024, 2_047, 2_048, 2_049, 4_095, 4_096, HIGHEST_NS]),
    ),
    max_size=200,
)
quick = settings(max_examples=60)


def ours(recorded: list[int]) -> Histogram:
    found = Histogram()
    found.record(indexes(np.asarray(recorded, np.int64)))
    return found


def theirs(recorded: list[int]) -> Any:
    found = HdrHistogram(1, HIGHEST_NS, 3)
    for value in recorded:
        assert found.record_value(value)
    return found


def as_counts(found: Histogram) -> dict[int, int]:
    keys, counts = found.pairs()
    return dict(zip(keys.tolist(), counts.tolist(), strict=True))


def package_counts(found: Any) -> dict[int, int]:
    return {i: found.get_count_at_index(i) for i in range(found.counts_len) if found.get_count_at_index(i)}


@quick
@given(values)
def test_buckets_are_those_of_the_package(recorded: list[int]) -> None:
    """Value by value."""
    package = HdrHistogram(1, HIGHEST_NS, 3)
    found = indexes(np.asarray(recorded, np.int64)).tolist()
    assert found == [package.get_counts_array_index(value) for value in recorded]
    assert package.counts_len == histogram.BUCKETS
    for value, index in zip(recorded, found, strict=True):
        assert histogram.highest(index) == package.get_highest_equivalent_value(value)


@quick
@given(values)
def test_the_package_reads_what_we_write(recorded: list[int]) -> None:
    """Bucket by bucket."""
    found = HdrHistogram.decode(ours(recorded).encode())
    assert package_counts(found) == package_counts(theirs(recorded))
    assert found.get_total_count() == len(recorded)


@quick
@given(values)
def test_we_read_what_the_package_writes(recorded: list[int]) -> None:
    """Bucket by bucket."""
    found = decode(theirs(recorded).encode().decode())
    assert as_counts(found) == package_counts(theirs(recorded))
    assert found.count == len(recorded)


@quick
@given(values.filter(bool), st.sampled_from([(1, 2), (1, 10), (1, 100), (1, 1_000), (0, 1)]))
def test_percentiles_are_of_the_exact_rank_within_a_thousandth(
    recorded: list[int], share: tuple[int, int]
) -> None:
    """The value which no more than the share of all is above."""
    over, of = share
    rank = len(recorded) - len(recorded) * over // of
    true = sorted(recorded)[rank - 1]
    (found,) = ours(recorded).percentiles([share])
    assert true <= found <= true * 1.001


@quick
@given(values, values)
def test_adding_is_recording_both(some: list[int], others: list[int]) -> None:
    """In any order, many or few."""
    found = ours(some)
    found.add(ours(others))
    assert as_counts(found) == as_counts(ours([*others, *some]))
    assert found.count == len(some) + len(others)


@quick
@given(values, st.integers(0, HIGHEST_NS))
def test_counting_up_to_a_bound_is_exact_but_for_the_bounds_own_bucket(
    recorded: list[int], bound: int
) -> None:
    """As the exporter does for its buckets and for objectives."""
    last = int(histogram.highest(int(indexes(np.asarray([bound]))[0])))
    assert cumulative(ours(recorded).encode()).at_or_below([bound]) == [
        sum(value <= last for value in recorded)
    ]
    assert last <= bound * 1.001


def test_values_out_of_range_stay_at_its_ends() -> None:
    """Below nothing, above an hour."""
    assert indexes(np.asarray([-5, 0])).tolist() == [0, 0]
    beyond = indexes(np.asarray([HIGHEST_NS, HIGHEST_NS + 1, 1 << 62])).tolist()
    assert len(set(beyond)) == 1


def test_many_values_are_counted_as_they_come() -> None:
    """More than are kept as they came."""
    found = Histogram()
    for start in range(0, 50_000, 500):
        found.record(indexes(np.arange(start, start + 500)))
    assert found.count == 50_000
    assert cumulative(found.encode()).at_or_below([HIGHEST_NS]) == [50_000]


def test_huge_counts_are_written_and_read() -> None:
    """More than 32 bits of them."""
    found = Histogram.of_pairs(np.asarray([3, 9], np.uint16), np.asarray([1 << 40, 1], np.int64))
    assert as_counts(decode(found.encode())) == {3: 1 << 40, 9: 1}
    assert HdrHistogram.decode(found.encode()).get_count_at_value(3) == 1 << 40


@pytest.mark.parametrize(
    ("name", "samples"),
    [
        ("log-normal", np.exp(np.random.default_rng(1).normal(15, 1, 200_000))),
        ("bimodal", np.concatenate([np.full(150_000, 1e6), np.full(50_000, 9e8)])),
        ("heavy tail", (np.random.default_rng(2).pareto(1.2, 200_000) + 1) * 1e5),
        ("constant", np.full(200_000, 123_456_789.0)),
    ],
)
def test_precision_over_known_shapes(name: str, samples: Any) -> None:
    """At most a thousandth off at every percentile that rows have."""
    whole = np.minimum(samples, HIGHEST_NS).astype(np.int64)
    found = Histogram()
    found.record(indexes(whole))
    ordered = np.sort(whole)
    for over, of in [(1, 2), (1, 10), (1, 20), (1, 100), (1, 1_000), (1, 10_000)]:
        true = int(ordered[len(ordered) - len(ordered) * over // of - 1])
        assert true <= found.percentiles([(over, of)])[0] <= true * 1.001, name


def encoded(inner: bytes, *, cookie: int = 0x1C849314, length: int | None = None) -> str:
    squeezed = zlib.compress(inner)
    size = len(squeezed) if length is None else length
    return base64.b64encode(cookie.to_bytes(4, "big") + size.to_bytes(4, "big") + squeezed).decode()


def inner(payload: bytes, *, cookie: int = 0x1C849313, digits: int = 3, highest: int = HIGHEST_NS) -> bytes:
    head = [cookie, len(payload), 0, digits]
    return b"".join(part.to_bytes(4, "big") for part in head) + (
        (1).to_bytes(8, "big") + highest.to_bytes(8, "big") + bytes.fromhex("3ff0000000000000") + payload
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not base64!",
        "aGVsbG8=",
        encoded(inner(b""), cookie=1),
        encoded(inner(b""), length=7),
        encoded(b"short"),
        encoded(inner(b"", cookie=5)),
        encoded(inner(b"", digits=2)),
        encoded(inner(b"", highest=1_000)),
        encoded(inner(b"\x80")),
        encoded(inner(b"\x80" * 9 + b"\x01")),
        encoded(inner(b"\xff\xff\xff\x7f")),
        base64.b64encode(base64.b64decode(encoded(inner(b"\x02" * 500)))[:-4]).decode(),
        encoded(inner(b"\x02" * 400_000)),
    ],
)
def test_what_is_no_histogram_of_this_layout_is_refused(text: str) -> None:
    """Not base64, cut off, another layout, numbers without an end, more buckets than there are."""
    with pytest.raises(BadHistogram):
        decode(text)


def test_an_empty_histogram_is_written_read_and_has_no_percentiles() -> None:
    """Nothing was received."""
    assert decode(Histogram().encode()).count == 0
    assert HdrHistogram.decode(Histogram().encode()).get_total_count() == 0
    with pytest.raises(ValueError, match="empty"):
        Histogram().percentiles([(1, 2)])
