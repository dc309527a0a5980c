"""The collector: it asks each router at its own time, and tells what it said and what became of each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from collectors.contract.telemetry import Telemetry

from . import counters
from .network import Network
from .parts import MS, Router

Row = dict[str, Any]
Publish = Callable[[Telemetry, int], None]
MESH = "prod"
SITE = "east"
TIMEOUT_NS = 2_000 * MS
PATH_COUNTERS = {
    "path_address": ("ingress", "egress", "transit", "to_container", "from_container"),
    "path_link": (
        *("deliveries", "presettled", "dropped_presettled"),
        *("accepted", "rejected", "released", "modified"),
    ),
}
IDENTITY = {"path_address": "key", "path_link": "identity"}


@dataclass(slots=True)
class Answer:
    """The tables of one router, each with when it was asked for and when it came, by true time."""

    instance: int
    tables: dict[str, tuple[int, int, list[Row]]] = field(default_factory=dict)


@dataclass(eq=False)
class Collector:
    """Polls the routers of a mesh. A lost poll is a router whose answer did not come in time."""

    network: Network
    publish: Publish
    interval_ns: int
    clock_ns: int = 0  # what its clock is ahead of true time
    lost_share: float = 0.0  # of answers
    unrecorded_share: float = 0.0  # of records, which Kafka did not get
    run: str = ""
    poll: int = 0
    before: dict[str, tuple[int, dict[str, dict[str, Row]]]] = field(default_factory=dict)
    running: bool = True
    dropped_before: dict[str, tuple[int, int]] = field(default_factory=dict)

    def restart(self) -> None:
        """A new process: it numbers polls anew and knows of nothing that was."""
        self.run, self.poll = f"{self.network.rng.getrandbits(64):016x}", 0
        self.before.clear()
        self.dropped_before.clear()

    def begin(self) -> None:
        self.restart()
        self.network.after(self.network.rng.randrange(self.interval_ns), self.tick)

    def tick(self) -> None:
        network, rng = self.network, self.network.rng
        network.after(self.interval_ns, self.tick)
        if not self.running:
            return
        self.poll += 1
        at_ns, answers, last_ns = network.now_ns, dict[str, Answer](), 0
        for router in network.routers.values():
            if not router.alive or rng.random() < self.lost_share:
                last_ns = TIMEOUT_NS
                continue
            links_ns = rng.randrange(2 * MS, 300 * MS)
            addresses_ns = links_ns + rng.randrange(5 * MS, 100 * MS)
            answers[router.name] = Answer(router.instance)
            for name, table_ns, read in (
                ("path_link", links_ns, lambda r: counters.of_links(r, network.now_ns)),
                ("path_address", addresses_ns, counters.of_addresses),
                ("router", links_ns + MS, lambda r: [counters.of_router(r)]),
                ("node", addresses_ns + MS, lambda r: counters.of_nodes(r, network.routers)),
            ):
                asked_ns = at_ns + table_ns - rng.randrange(MS, 2 * MS)
                answered_ns = at_ns + table_ns + rng.randrange(MS, 20 * MS)
                network.after(table_ns, self._ask, router, answers, name, (asked_ns, answered_ns), read)
            last_ns = max(last_ns, addresses_ns + 25 * MS)
        network.after(last_ns, self._tell, self.run, self.poll, at_ns, answers)

    def _ask(
        self,
        router: Router,
        answers: dict[str, Answer],
        name: str,
        times: tuple[int, int],
        read: Callable[[Router], list[Row]],
    ) -> None:
        answer = answers.get(router.name)
        if answer is None:
            return
        if not router.alive or router.instance != answer.instance:
            del answers[router.name]
            return
        answer.tables[name] = (*times, read(router))

    def _tell(self, run: str, poll: int, at_ns: int, answers: dict[str, Answer]) -> None:
        if run != self.run:
            return  # it went with the process
        network = self.network
        append_ns = network.now_ns + network.rng.randrange(5 * MS, 150 * MS)
        mesh = [
            {"kind": "router", "router": name, "up": up, "reason": None if up else "no answer"}
            for name, up in ((name, name in answers) for name in network.routers)
        ]
        mesh += [
            {
                "kind": "edge",
                "source": min(way.one, way.other),
                "target": max(way.one, way.other),
                "up": way.known,
                "cost": way.cost,
            }
            for way in network.ways
        ]
        self._record(("", "mesh"), poll, mesh, (at_ns, at_ns, at_ns), 0, append_ns)
        for name, answer in answers.items():
            before_instance, before = self.before.get(name, (answer.instance, {}))
            if before_instance != answer.instance:
                before = {}
            told = {}
            for entity, (asked_ns, answered_ns, found) in answer.tables.items():
                rows = found
                if entity in IDENTITY:
                    rows = with_states(entity, found, before.get(entity))
                    told[entity] = {row[IDENTITY[entity]]: row for row in found}
                elif entity == "router":
                    rows = [self._with_added(name, answer.instance, found[0])]
                append_ns += network.rng.randrange(MS // 10, MS)
                times = at_ns, asked_ns, answered_ns
                self._record((name, entity), poll, rows, times, answer.instance, append_ns)
            self.before[name] = answer.instance, told

    def _with_added(self, name: str, instance: int, row: Row) -> Row:
        earlier_instance, earlier = self.dropped_before.get(name, (instance, row["dropped_presettled"]))
        now = row["dropped_presettled"]
        self.dropped_before[name] = instance, now
        added = now if earlier_instance != instance else max(0, now - earlier)
        return {**row, "dropped_presettled_added": added}

    def _record(
        self,
        of: tuple[str, str],
        poll: int,
        rows: list[Row],
        times: tuple[int, int, int],
        instance: int,
        append_ns: int,
    ) -> None:
        if self.network.rng.random() < self.unrecorded_share:
            return
        at_ns, asked_ns, answered_ns = (ns + self.clock_ns for ns in times)
        self.publish(
            Telemetry(
                site=SITE,
                mesh=MESH,
                target=of[0],
                entity=of[1],
                at_ns=at_ns,
                interval_ns=self.interval_ns,
                poll=poll,
                rows=rows,
                run=self.run,
                asked_ns=asked_ns,
                answered_ns=answered_ns,
                instance=instance,
            ),
            append_ns,
        )


def with_states(entity: str, rows: list[Row], before: Mapping[str, Row] | None) -> list[Row]:
    """Return the rows with what became of each since the poll before, and those that are gone."""
    identity, names = IDENTITY[entity], PATH_COUNTERS[entity]
    told = []
    for row in rows:
        earlier = None if before is None else before.get(row[identity])
        if before is None:
            state = ""
        elif earlier is None:
            state = "new"
        else:
            state = "reset" if any(row[name] < earlier[name] for name in names) else ""
        told.append({**row, "state": state})
    here = {row[identity] for row in rows}
    gone = [{**row, "state": "gone"} for key, row in (before or {}).items() if key not in here]
    return told + gone
