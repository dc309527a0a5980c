"""Numbers an end's records and gives them to the sink, under each path that the end is part of."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from collectors.config.paths import Path
from collectors.contract.record_codec import encode
from collectors.contract.records import Gap, Header, Kind, Ledger, Received, Role
from collectors.probe.measure.arrivals import Group
from collectors.probe.measure.ledger import LedgerSecond


class Sink(Protocol):
    """Takes records, keeps them in order, and tells what it had to give up."""

    def put(self, record: bytes, key: str) -> None:
        """Does not block for long, and does not raise."""

    def gaps(self, path: str, role: str, name: str, run: str) -> tuple[Gap, ...]:
        """Returns what of an end's records was given up since the last call."""


def new_run() -> int:
    """Returns a random 64-bit number, not 0, which stands for none."""
    return secrets.randbits(64) or 1


def header_for(
    path: Path, role: Role, name: str, run: int, observed_from_ns: int, *, warmup: bool = False
) -> Header:
    """Returns a header with the fields that are the same in all records of an end."""
    return Header(
        kind="alive",
        mesh=path.mesh,
        path=path.name,
        address=path.address,
        source=path.source,
        target=path.target,
        role=role,
        name=name,
        run=f"{run:016x}",
        number=0,
        observed_from_ns=observed_from_ns,
        frontier_ns=observed_from_ns,
        senders=path.senders,
        receivers=path.receivers,
        multicast=path.multicast,
        via_broker=path.via is not None,
        presettled=path.presettled,
        warmup=warmup,
    )


class Publisher:
    """Makes one end's records; only the last one of a publication moves the frontier."""

    def __init__(self, headers: Sequence[Header], sink: Sink, committed: Callable[[int, int], None]) -> None:
        """`committed` gets the next number and the frontier when the sink has all of a publication."""
        self._headers: Final = tuple(headers)
        self._sink = sink
        self._committed = committed
        self.number = headers[0].number
        self.frontier_ns = headers[0].frontier_ns
        self._pending: tuple[Kind, Received | Ledger | None, dict[str, Any]] | None = None

    def add(self, kind: Kind, rows: Received | Ledger | None = None, **fields: Any) -> None:
        """Adds a record to the publication."""
        self._flush()
        self._pending = kind, rows, fields

    def add_received(self, group: Group, **fields: Any) -> None:
        """Adds what arrived of a stream's second."""
        self.add(
            "received",
            group.rows,
            stream=group.stream,
            second=group.second,
            body_bytes=group.body_bytes,
            rfc3550_ns=group.rfc3550_ns,
            routes=group.routes,
            **fields,
        )

    def add_ledger(self, stream: str, entry: LedgerSecond, **fields: Any) -> None:
        """Adds what became of the messages of a second, in as many records as it takes."""
        fields = {
            "stream": stream,
            "second": entry.second,
            "body_bytes": entry.body_bytes,
            "revision": entry.revision,
            "due": entry.due,
            "backlog": entry.backlog,
            "unsent": entry.unsent_by_reason(),
            **fields,
        }
        for rows in entry.parts():
            self.add("ledger", rows, **fields)

    def end(self, frontier_ns: int, *, kind: Kind = "alive", always: bool = False, **fields: Any) -> bool:
        """Ends the publication: its last record has `fields`, too, and moves the frontier.

        Where nothing was added, a record of this kind is made if it is `always` wanted. Returns whether there
        was a record.
        """
        if kind != "alive" or (self._pending is None and always):
            self.add(kind)
        if self._pending is None:
            return False
        self._pending = self._pending[0], self._pending[1], {**fields, **self._pending[2]}
        self.frontier_ns = max(self.frontier_ns, frontier_ns)
        self._flush()
        self._committed(self.number, self.frontier_ns)
        return True

    def _flush(self) -> None:
        if self._pending is None:
            return
        kind, rows, fields = self._pending
        self._pending = None
        for header in self._headers:
            gaps = self._sink.gaps(header.path, header.role, header.name, header.run)
            whole = header._replace(
                kind=kind, number=self.number, frontier_ns=self.frontier_ns, gaps=gaps, **fields
            )
            self._sink.put(encode(whole, rows), header.path)
        self.number += 1
