"""Records to a function in the same process."""

from __future__ import annotations

from collectors.kafka.in_process_sink import InProcessSink


def test_direct_sink_survives_its_taker() -> None:
    """In one process the same bytes arrive in order; a taker that fails once is called again."""
    taken: list[bytes] = []

    def take(record: bytes, key: str) -> None:
        taken.append(record)
        assert key == "p"
        if record == b"1":
            raise ValueError("no good")

    sink = InProcessSink(take)
    for record in (b"0", b"1", b"2"):
        sink.put(record, "p")
    sink.close()
    assert taken == [b"0", b"1", b"2"]
    assert sink.failed == 1
