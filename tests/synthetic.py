"""Made records, as probes would write them, for tests and benchmarks of the job."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from by_hand import ledger_rows

from collectors.contract.record_codec import encode
from collectors.contract.records import SECOND_NS, Header, Received, Role

EPOCH = 1_700_000_000  # a whole minute


@dataclass(frozen=True)
class Flow:
    """One sender and one receiver; every `lose_every`-th message is lost."""

    path: str
    rate: int  # messages a second
    seed: int = 0
    lose_every: int = 0
    start_second: int = EPOCH
    size_bytes: int = 256

    def records(self, seconds: int, *, bye: bool = False, first_second: int = 0) -> Iterator[bytes]:
        """Yield records second by second: the receiver's, then the sender's ledger."""
        for second in range(first_second, seconds):
            yield from self.second(second, last=bye and second == seconds - 1)

    def second(self, second: int, *, last: bool = False) -> Iterator[bytes]:
        """Return what both ends write about one second, counted from the start."""
        at = self.start_second + second
        first = second * self.rate
        seq = np.arange(first, first + self.rate, dtype=np.int64)
        sent_ns = at * SECOND_NS + (seq - first) * (SECOND_NS // self.rate)
        draw = np.random.default_rng([self.seed, second, *self.path.encode()])
        latency_ns = (draw.lognormal(0.0, 0.5, self.rate) * 2_000_000).astype(np.int64)
        kept = (seq + 1) % self.lose_every != 0 if self.lose_every else np.ones(self.rate, np.bool_)
        received_ns = sent_ns + latency_ns
        frontier_ns = (at + 1) * SECOND_NS + 50_000_000
        base = {"frontier_ns": frontier_ns, "second": at, "stream": self._run("sender")}
        count = int(kept.sum())
        rows = Received.of(
            seq=seq[kept],
            intended_ns=sent_ns[kept],
            sent_ns=sent_ns[kept],
            received_ns=received_ns[kept],
            ipdv_ns=np.diff(latency_ns[kept], prepend=latency_ns[kept][:1]),
            has_ipdv=np.ones(count, np.bool_),
            flags=np.zeros(count, np.uint8),
        )
        yield encode(
            self._header(
                "receiver",
                kind="received",
                number=second,
                body_bytes=count * self.size_bytes,
                **base,
            ),
            rows,
        )
        yield encode(
            self._header(
                "sender",
                kind="ledger",
                number=second,
                body_bytes=self.rate * self.size_bytes,
                due=self.rate,
                **base,
            ),
            ledger_rows([(first, self.rate, "accepted")]),
        )
        if last:
            for role in get_args(Role):
                yield encode(self._header(role, kind="bye", number=second + 1, frontier_ns=frontier_ns + 1))

    def _header(self, role: Role, **values: Any) -> Header:
        return Header(
            mesh="prod",
            path=self.path,
            address=f"inflight/{self.path}",
            source="east",
            target="west",
            role=role,
            name=f"{role}-1",
            run=self._run(role),
            observed_from_ns=self.start_second * SECOND_NS,
            senders=1,
            receivers=1,
            **values,
        )

    def _run(self, role: str) -> str:
        return hashlib.blake2b(f"{self.path} {role} {self.seed}".encode(), digest_size=8).hexdigest()
