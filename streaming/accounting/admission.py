"""Which records the accounting refuses, whatever is known of their path."""

from __future__ import annotations

from typing import Final

from collectors.contract.records import SECOND_NS, Gap, Header, Record, Span
from streaming.accounting import bounds


class Rejected(Exception):  # noqa: N818 -- it is the record that is rejected
    """The record was not taken in, or only its header was."""

    def __init__(self, reason: bounds.Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: Final = reason
        self.detail: Final = detail


def check(record: Record, path: str, append_ns: int) -> None:
    """Raises Rejected where the record contradicts itself, or is of another path or of the future."""
    header = record.header
    if header.path != path:
        raise Rejected("alien", f"a record of path {header.path!r} came to path {path!r}")
    if header.kind == "received" and (header.role != "receiver" or not header.stream):
        raise Rejected("alien", "`received` comes from a receiver, and names the stream")
    if header.kind == "ledger" and (header.role != "sender" or header.stream != header.run):
        raise Rejected("alien", "a `ledger` comes from the sender whose stream it is")
    # An offset, which takes a receiver's times back into the senders', must not take them ahead either.
    offset_ns = min((pair.offset_ns - pair.bound_ns for pair in header.clock.values()), default=0)
    offset_ns = min(offset_ns, 0)
    allowed_ns = append_ns + bounds.AHEAD_NS + offset_ns
    newest_ns = _newest_ns(record, allowed_ns)
    if newest_ns > allowed_ns:
        raise Rejected(
            "future", f"of {(newest_ns - offset_ns - append_ns) // SECOND_NS} s after Kafka took it"
        )
    if header.observed_from_ns > header.frontier_ns:
        raise Rejected("times", "it measured until before it began to")
    _check_gaps(header)


def _newest_ns(record: Record, allowed_ns: int) -> int:
    """Returns the latest time in the record: exactly if it is more than allowed, else an upper bound."""
    header, rows = record.header, record.received
    spans: tuple[Gap | Span, ...] = (*header.gaps, *header.unwatched)
    newest_ns = max([header.frontier_ns, *(span.to_ns for span in spans)])
    if rows is not None or record.ledger is not None:
        newest_ns = max(newest_ns, header.second * SECOND_NS)
    if rows is not None and rows.size:
        latest_ns = rows.start_ns + SECOND_NS + int(rows.service_ns.max())  # at most
        newest_ns = max(newest_ns, latest_ns if latest_ns <= allowed_ns else int(rows.received_ns.max()))
    return newest_ns


def _check_gaps(header: Header) -> None:
    for gap in header.gaps:
        if gap.first > gap.last or gap.last >= header.number or gap.from_ns > gap.to_ns:
            raise Rejected("times", f"a gap that is none: {tuple(gap)} before record {header.number}")
    for span in header.unwatched:
        if span.from_ns > span.to_ns:
            raise Rejected("times", f"a time unwatched that is none: {tuple(span)}")
