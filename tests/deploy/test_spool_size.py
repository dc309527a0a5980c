"""The spool's bound, as made from the config: ten minutes of what the paths really write."""

from __future__ import annotations

import pytest
from by_hand import received_rows

from collectors.config import load, paths
from collectors.contract.records import MAX_ROWS, SECOND_NS, Gap
from collectors.probe.publisher import Publisher, header_for
from deploy.parts.ends import spool_bytes


class _Counting:
    """A sink that adds up what comes."""

    def __init__(self) -> None:
        self.bytes = 0

    def put(self, record: bytes, key: str) -> None:
        self.bytes += len(record) + len(key) + 32

    def gaps(self, path: str, role: str, name: str, run: str) -> tuple[Gap, ...]:  # noqa: ARG002 -- the interface
        return ()


def _second_of(path: paths.Path, rate: int) -> int:
    """What a receiver of this path writes in a second at this rate."""
    sink = _Counting()
    header = header_for(path, "receiver", "here-0", 1, 0)
    publisher = Publisher([header], sink, lambda _number, _frontier: None)
    start = 1_700_000_000 * SECOND_NS
    for first in range(0, rate, MAX_ROWS):
        seq = list(range(first, min(rate, first + MAX_ROWS)))
        intended = [start + number * (SECOND_NS // rate) for number in seq]
        sent = [time + 300_000 for time in intended]
        received = [
            time + 2_000_000 + number * 7_919 % 500_000 for number, time in zip(seq, sent, strict=True)
        ]
        steps = [number * 104_729 % 1_000_000 - 500_000 for number in seq]
        rows = received_rows(seq, intended, sent, received, [None, *steps[1:]], [0] * len(seq))
        publisher.add("received", rows, stream="0" * 15 + "1", second=1_700_000_000, body_bytes=256 * rate)
    publisher.end(start, always=True)
    return sink.bytes


@pytest.mark.parametrize(("count", "rate"), [(1, 10), (100, 10), (3, 5_000), (1, 40_000)])
def test_ten_minutes_fit(count: int, rate: int) -> None:
    """Of many slow paths as of a fast one, with all that records have beside their rows."""
    names = ", ".join(
        f"p{n}: {{from: a, to: a, address: inflight/p{n}, rate: {rate}/s}}" for n in range(count)
    )
    text = f"version: 1\nsite: here\nendpoints: {{a: {{url: 'amqp://127.0.0.1:5672'}}}}\npaths: {{{names}}}\n"
    config = load.parse(text, "test")
    found = list(paths.resolve(config).values())
    assert config.defaults.spool == 600 * SECOND_NS
    bound = spool_bytes(found, found, config.defaults.spool)
    written = 600 * count * _second_of(found[0], rate)
    assert written <= bound <= max(64 << 20, 600 * count * (8_000 + 45 * rate))  # and not twice that
