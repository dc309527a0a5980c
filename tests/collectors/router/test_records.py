"""The records of a poll: when each thing was asked for, by whom, and which life of a router answered."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from proton import Message
from replay import Replay

from collectors.config.model import Mesh
from collectors.contract import telemetry
from collectors.contract.path_telemetry import PATH_ADDRESS, PATH_LINK
from collectors.contract.telemetry import Telemetry
from collectors.polling.context import PollContext
from collectors.polling.metric_cache import MetricCache
from collectors.polling.poll_metrics import PollMetrics
from collectors.router import management, schema
from collectors.router.mesh import MeshState

WALL_NS = 1_800_000_000_000_000_000  # when the monotonic clock was at 0
BEGAN_NS, STEP_NS, ENDED_NS = 50_000, 1_000, 900_000_000


class Mocked:
    """A mesh that is polled by hand: each request and each answer takes a step of the clock."""

    def __init__(self, paths: Iterable[str] = ("closest/p1", "closest/p2")) -> None:
        self.replay = Replay("qdrouterd")
        self.records: list[Telemetry] = []
        self._tags = itertools.count()
        self.asked: dict[tuple[str, str], list[int]] = {}
        self.answered: dict[tuple[str, str], list[int]] = {}
        context = PollContext(
            "here",
            MetricCache(),
            PollMetrics(),
            lambda _, record: self.records.append(record),
            {"prod": frozenset(paths), "other": frozenset({"multicast/m"})},
        )
        mesh = Mesh.model_validate({"urls": "amqp://r", "interval": "5s"})
        self.state = MeshState("prod", mesh, context, lambda _: None)

    def poll(self, start_ns: int = BEGAN_NS) -> dict[tuple[str, str], Telemetry]:
        """Return the records by target and entity."""
        poll, now_ns = self.state.begin(schema.DISPATCH, self._tags), start_ns
        while requests := poll.take(now_ns, 1):
            for tag, request in requests:
                message = Message()
                message.decode(management.encode(request, tag, "reply"))
                sent_ns, now_ns = now_ns, now_ns + STEP_NS
                for answer in self.replay(message):
                    poll.reply(answer if isinstance(answer, bytes) else answer.encode(), now_ns)
                if "entityType" in message.properties:
                    entity = message.properties["entityType"].removeprefix(self.replay.prefix)
                    key = self.replay.router_of(message), entity
                    self.asked.setdefault(key, []).append(sent_ns)
                    self.answered.setdefault(key, []).append(now_ns)
        poll.expire(now_ns)
        self.records.clear()
        self.state.end(poll, WALL_NS + start_ns + ENDED_NS, start_ns + ENDED_NS)
        return {(record.target, record.entity): record for record in self.records}


def test_each_entity_says_when_it_was_asked_for_and_answered() -> None:
    """By the wall clock, of one offset for the poll; a path's rows when the table behind them was."""
    mocked = Mocked()
    found = mocked.poll()
    for entity, table in {
        "link": "router.link",
        "address": "router.address",
        "node": "router.node",
        "router": "router",
        PATH_LINK: "router.link",
        PATH_ADDRESS: "router.address",
    }.items():
        record = found["QDR.C", entity]
        assert record.asked_ns == WALL_NS + mocked.asked["QDR.C", table][0]
        assert record.answered_ns == WALL_NS + mocked.answered["QDR.C", table][-1]
        assert record.asked_ns < record.answered_ns < record.at_ns
    assert found["QDR.A", "link"].asked_ns != found["QDR.C", "link"].asked_ns


def test_pages_are_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for when the first page was, answered when the last one came."""
    monkeypatch.setattr(schema, "PAGE", 10)
    mocked = Mocked()
    record = mocked.poll()["QDR.B", "link"]
    asked, answered = mocked.asked["QDR.B", "router.link"], mocked.answered["QDR.B", "router.link"]
    assert len(asked) > 1
    assert (record.asked_ns, record.answered_ns) == (WALL_NS + asked[0], WALL_NS + answered[-1])


def test_the_record_of_the_mesh_is_of_the_whole_poll() -> None:
    """From its first request until it was over."""
    record = Mocked().poll()["", "mesh"]
    assert (record.asked_ns, record.answered_ns) == (WALL_NS + BEGAN_NS, WALL_NS + BEGAN_NS + ENDED_NS)
    assert record.answered_ns == record.at_ns


def test_a_mesh_that_is_lost_says_so_under_the_same_run() -> None:
    """Nothing was asked for then."""
    mocked = Mocked()
    run = mocked.poll()["", "mesh"].run
    mocked.state.lost(WALL_NS + 5, 5 * 10**9, "no way")
    record = mocked.records[-1]
    assert (record.run, record.asked_ns, record.answered_ns) == (run, WALL_NS + 5, WALL_NS + 5)


def runs(records: Iterable[Telemetry]) -> set[str]:
    return {record.run for record in records}


def test_each_life_of_a_collector_has_a_run_of_its_own() -> None:
    """16 hexadecimal digits, the same in all of its polls."""
    mocked = Mocked()
    first, later, other = mocked.poll(), mocked.poll(10**10), Mocked().poll()
    (run,) = runs((*first.values(), *later.values()))
    assert len(run) == 16
    assert int(run, 16) >= 0
    assert run not in runs(other.values())


def test_a_router_tells_its_instance() -> None:
    """An edge has none to tell, nor has the mesh as a whole."""
    found = Mocked().poll()
    assert {key[0]: record.instance for key, record in found.items()} == {
        **dict.fromkeys(("QDR.A", "QDR.B", "QDR.C"), 1_794_994_684),
        **dict.fromkeys(("QDR.E", ""), 0),
    }


def test_paths_of_the_mesh_are_told_at_every_poll_by_every_router() -> None:
    """Those of other meshes are not; each record is one that readers take."""
    mocked = Mocked()
    for number in range(3):
        found = mocked.poll(number * 10**10 + 1)
        assert {router for router, entity in found if entity == PATH_ADDRESS} == {*mocked.replay.routers}
        assert {router for router, entity in found if entity == PATH_LINK} == {*mocked.replay.routers}
        told = [
            row["address"] for (_, entity), r in found.items() if entity == PATH_ADDRESS for row in r.rows
        ]
        assert {*told} == {"closest/p1", "closest/p2"}
        for record in found.values():
            assert telemetry.decode(record.encode()) == record


def test_a_router_that_did_not_answer_is_compared_with_its_poll_before() -> None:
    """What happened while it was silent is in the difference, and no row is new for it."""
    mocked = Mocked()
    mocked.poll()
    mocked.replay.silent.add("QDR.C")
    assert ("QDR.C", PATH_LINK) not in mocked.poll(10**10)
    mocked.replay.silent.clear()
    rows = mocked.poll(2 * 10**10)["QDR.C", PATH_LINK].rows
    assert {row["state"] for row in rows} == {""}


def test_a_record_with_many_names_goes_in_small_parts() -> None:
    """500 addresses with subscribers at 400 routers each would be megabytes, more than Kafka takes."""
    mocked = Mocked(paths=[f"closest/{number}" for number in range(100)])
    (row, *_) = mocked.replay.rows("QDR.A", "router.address")
    row["remoteHostRouters"] = [f"router-{number:04}" for number in range(400)]
    rows = [row | {"key": f"M0closest/{number}"} for number in range(100)]
    mocked.replay.replace("QDR.A", "router.address", rows)
    mocked.poll()
    parts = [r for r in mocked.records if (r.target, r.entity) == ("QDR.A", PATH_ADDRESS)]
    assert [row["address"] for part in parts for row in part.rows] == [f"closest/{n}" for n in range(100)]
    assert max(len(part.encode()) for part in parts) < 1 << 18
    assert {part.parts for part in parts} == {len(parts)}


def test_a_mesh_without_paths_tells_nothing_one_by_one() -> None:
    """There is nothing to attribute, and it would cost each poll."""
    assert {entity for _, entity in Mocked(paths=[]).poll()} & {PATH_ADDRESS, PATH_LINK} == set()
