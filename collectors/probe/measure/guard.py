"""Limits what senders do to the network: one that nobody receives from stops, and all share a total rate."""

from __future__ import annotations

from typing import Final

SILENT_NS: Final = 30_000_000_000


class Guard:
    """Stops one stream while its receivers are silent, or too many messages are between it and them.

    Receivers report in the same process, or by their questions about clocks. Before the first report there
    is nothing to judge by; what a queue can hold then is bounded by rate × TTL.
    """

    def __init__(self, max_depth: int, *, all_receivers: bool = False) -> None:
        """With `all_receivers` each of them has to be alive, as each has a queue of its own."""
        self._max_depth = max_depth
        self._all = all_receivers
        self._reports: dict[str, tuple[int, int]] = {}  # by receiver: when, and the highest number received

    def report(self, receiver: str, now_ns: int, highest: int) -> None:
        """Call when a receiver is known to observe, and to have received up to this number; -1 for none."""
        known = self._reports.get(receiver)
        self._reports[receiver] = now_ns, max(highest, known[1] if known else -1)

    def stood_still(self, for_ns: int) -> None:
        """Take in that this process did not run for so long, and could not get reports."""
        self._reports = {who: (when + for_ns, highest) for who, (when, highest) in self._reports.items()}

    def problem(self, next_seq: int, now_ns: int) -> str | None:
        """Returns why nothing may be sent now; None where it may."""
        if not self._reports:
            return None
        choose = min if self._all else max
        last = choose(when for when, _ in self._reports.values())
        if now_ns - last > SILENT_NS:
            return f"no receiver has been heard of for {(now_ns - last) // 1_000_000_000} s"
        depth = next_seq - 1 - choose(highest for _, highest in self._reports.values())
        if depth > self._max_depth:
            return f"{depth} messages are between sender and receiver; the bound is {self._max_depth}"
        return None


class RateCap:
    """The total rate of a process's senders: a bucket of tokens that fills at the highest rate allowed."""

    def __init__(self, per_second: float) -> None:
        """A rate of 0 is no limit."""
        self._rate = per_second
        self._most = max(1.0, per_second / 10)
        self._tokens = self._most
        self._at_ns: int | None = None

    def room(self, now_ns: int) -> int:
        """Returns how many messages may be sent now."""
        if not self._rate:
            return 1 << 30
        if self._at_ns is not None:
            # After a step back of the clock the runs that follow live a time again.
            gone_ns = max(0, now_ns - self._at_ns)
            self._tokens = min(self._most, self._tokens + gone_ns * self._rate / 1e9)
        self._at_ns = now_ns
        return int(self._tokens)

    def take(self, count: int) -> None:
        self._tokens -= count
