"""Which presettled messages are out on the socket."""

from __future__ import annotations

from collectors.probe.durable.socket_watermark import Written


def test_out_when_their_bytes_are() -> None:
    """A number is out when all bytes up to its own are written, and not before."""
    written = Written()
    written.mark(1_000, 10)
    written.advance(999)
    assert written.below == 0
    written.mark(1_500, 10)
    written.mark(2_000, 25)
    written.advance(1_000)
    assert written.below == 10
    written.advance(5_000)
    assert written.below == 25


def test_a_lost_connection() -> None:
    """What may not have left is named once; what is sent afterwards begins anew."""
    written = Written()
    written.mark(1_000, 10)
    written.mark(2_000, 20)
    written.advance(1_200)
    assert list(written.lost(30)) == list(range(10, 30))
    assert list(written.lost(30)) == []
    written.mark(2_500, 40)
    written.advance(2_500)
    assert written.below == 40
