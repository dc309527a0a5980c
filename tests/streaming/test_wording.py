"""Figures in the words of people."""

from __future__ import annotations

import pytest

from streaming.wording import latency, rate, seconds, share, size


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (share(None), "–"),
        (share(0), "0 %"),
        (share(0.0022), "0.22 %"),
        (share(0.25), "25.00 %"),
        (share(0.000_000_4), "4e-05 %"),  # what is not 0 does not read as 0
        (rate(None), "–"),
        (rate(4.25), "4.25/s"),
        (rate(99.8), "99.8/s"),
        (rate(18_489.4), "18,489/s"),
        (size(None), "–"),
        (size(0), "0 B"),
        (size(999), "999 B"),
        (size(45_000), "45 kB"),
        (size(31_400_000), "31.4 MB"),
        (size(8_000_000_000), "8 GB"),
        (latency(None), "–"),
        (latency(696_400), "696 µs"),
        (latency(1_234_567), "1.23 ms"),
        (seconds(750_000_000_000), "12 min 30 s"),
    ],
)
def test_written(said: str, expected: str) -> None:
    """In three digits and a unit."""
    assert said == expected
