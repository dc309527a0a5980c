"""The collector of a broker: sums that only rise, though its counters begin anew with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from collectors.contract.telemetry import Telemetry

from . import counters
from .broker import COUNTERS, Broker
from .network import Network
from .parts import MS, T0
from .polls import MESH, SITE

Row = dict[str, Any]
ALL_COUNTERS = {"queue": COUNTERS, "address": ("unrouted",)}


@dataclass(eq=False)
class BrokerCollector:
    """Polls one broker."""

    network: Network
    broker: Broker
    publish: Callable[[Telemetry, int], None]
    interval_ns: int
    clock_ns: int = 0
    run: str = ""
    poll: int = 0
    starts: int | None = None
    raw: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    sums: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)

    def restart(self) -> None:
        """A new process: its sums begin at 0."""
        self.run, self.poll, self.starts = f"{self.network.rng.getrandbits(64):016x}", 0, None
        self.raw.clear()
        self.sums.clear()

    def begin(self) -> None:
        self.restart()
        self.network.after(self.network.rng.randrange(self.interval_ns), self.tick)

    def tick(self) -> None:
        network, broker = self.network, self.broker
        network.after(self.interval_ns, self.tick)
        self.poll += 1
        asked_ns = network.now_ns
        if not broker.up:
            self._record("broker", [{"up": False, "reason": "refused"}], asked_ns, asked_ns, restarted=False)
            return
        network.after(network.rng.randrange(5 * MS, 200 * MS), self._read, asked_ns, self.run)

    def _read(self, asked_ns: int, run: str) -> None:
        broker = self.broker
        if run != self.run or not broker.up:
            return
        restarted = self.starts is not None and self.starts != broker.starts
        fresh = self.starts is None
        self.starts = broker.starts
        answered_ns = self.network.now_ns + 2 * MS
        about = {
            "version": "2.44.0",
            "uptime_ms": (self.network.now_ns - T0) // MS,
            "name": broker.name,
            "up": True,
            "product": "artemis",
            "ha_role": "active",
            "start_ms": T0 // MS + broker.starts,
        }
        tables = {
            "broker": [about],
            "jvm": [{"heap": {"used": 1, "max": 2}, "pools": {}}],
            "queue": self._counted("queue", counters.of_queues(broker), fresh=fresh, restarted=restarted),
            "address": self._counted(
                "address", counters.of_broker_addresses(broker), fresh=fresh, restarted=restarted
            ),
        }
        for entity, rows in tables.items():
            self._record(entity, rows, asked_ns, answered_ns, restarted=restarted)

    def _counted(self, entity: str, rows: list[Row], *, fresh: bool, restarted: bool) -> list[Row]:
        told = []
        for row in rows:
            key = entity, row["address"]
            names = ALL_COUNTERS[entity]
            now = {name: row[name] for name in names}
            # The first poll of a run adds nothing; what is new later, or after a restart, adds all it has.
            before = dict.fromkeys(names, 0) if restarted else self.raw.get(key)
            if before is None:
                before = now if fresh else dict.fromkeys(names, 0)
            fell = any(now[name] < before[name] for name in names)
            added = {name: now[name] - (0 if fell else before[name]) for name in names}
            self.raw[key] = now
            sums = self.sums.setdefault(key, dict.fromkeys(names, 0))
            for name in names:
                sums[name] += added[name]
            told.append({**row, **sums, **{f"{name}_added": value for name, value in added.items()}})
        return told

    def _record(
        self, entity: str, rows: list[Row], asked_ns: int, answered_ns: int, *, restarted: bool
    ) -> None:
        network = self.network
        self.publish(
            Telemetry(
                site=SITE,
                mesh=MESH,
                target=self.broker.name,
                entity=entity,
                at_ns=answered_ns + self.clock_ns,
                interval_ns=self.interval_ns,
                poll=self.poll,
                rows=rows,
                restarted=restarted,
                run=self.run,
                asked_ns=asked_ns + self.clock_ns,
                answered_ns=answered_ns + self.clock_ns,
            ),
            network.now_ns + network.rng.randrange(5 * MS, 150 * MS),
        )
