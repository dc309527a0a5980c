"""One poll of a mesh, without sockets: what is asked, and what each kind of reply comes to."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from proton import Message
from replay import Replay, play

from collectors.router import in_flight, schema
from collectors.router.asked import KnownRouter
from collectors.router.poll import Poll
from collectors.router.snapshot import take_snapshot

SECOND_NS = 1_000_000_000


def begin(flavour: schema.Flavour = schema.DISPATCH, **known: Any) -> Poll:
    return Poll(flavour, known, itertools.count())


@pytest.mark.parametrize("flavour", ["qdrouterd", "skrouterd"])
@pytest.mark.parametrize("guess", [schema.DISPATCH, schema.SKUPPER])
def test_the_whole_mesh_is_found_from_one_router(flavour: str, guess: schema.Flavour) -> None:
    """Interior routers by the node list, the edge by its connection; a wrong guess is mended."""
    replay = Replay(flavour)
    polling = begin(guess)
    play(replay, polling)
    assert polling.done
    assert {router: asked.kind for router, asked in polling.asked.items()} == dict(
        zip(replay.routers, ["local", "interior", "interior", "edge"], strict=True)
    )
    assert {asked.result for asked in polling.asked.values()} == {"ok"}
    assert not polling.faults
    # Counted in the captures by hand.
    tables = polling.asked[replay.routers[2]].tables
    assert len(tables["link"].rows) == {"qdrouterd": 29, "skrouterd": 27}[flavour]
    assert len(tables["auto_link"].rows) == 2


def test_pages() -> None:
    """An entity of more rows than a page is asked for page by page, each row once."""
    replay = Replay("qdrouterd")
    links = replay.rows("QDR.A", "router.link")
    many = [{**links[0], "identity": str(number)} for number in range(10_000)]
    replay.replace("QDR.A", "router.link", many)
    polling = begin()
    play(replay, polling)
    found = polling.asked["QDR.A"].tables["link"].rows
    assert [row["identity"] for row in found] == [str(number) for number in range(10_000)]


def test_a_silent_router_is_down_and_the_others_hold() -> None:
    """What has not answered at the deadline is a timeout; the rest is whole."""
    replay = Replay("qdrouterd")
    replay.silent = {"QDR.C"}
    polling = begin()
    play(replay, polling)
    assert not polling.done
    polling.expire(9)
    assert polling.done
    assert {r: a.result for r, a in polling.asked.items()} == {
        "QDR.A": "ok",
        "QDR.B": "ok",
        "QDR.C": "timeout",
        "QDR.E": "ok",
    }


def test_a_router_that_cannot_be_reached_is_told_at_once() -> None:
    """A request that the network gives back needs no deadline."""
    polling = begin(B=KnownRouter("interior", schema.DISPATCH))
    (tag, _), *_ = [item for item in polling.take(0, 100) if "B" in item[1].to]
    polling.undelivered(tag, "released", denied=False, now_ns=1)
    assert polling.asked["B"].result == "unreachable"
    assert "nobody at amqp:/_topo/0/B/$management" in polling.asked["B"].failure[1]


def from_b(request: Message) -> bool:
    return "QDR.B" in request.address and request.properties.get("entityType", "").endswith("router.link")


def status(code: int) -> Any:
    def change(answer: Message) -> Message:
        answer.properties = {"statusCode": code, "statusDescription": "no"}
        answer.body = {}
        return answer

    return change


def with_body(body: Any) -> Any:
    def change(answer: Message) -> Message:
        answer.body = body
        return answer

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (status(500), "status_5xx"),
        (with_body([1, 2]), "shape"),
        (with_body({"attributeNames": ["linkName"], "results": [["x"]]}), "shape"),
        (
            with_body({"attributeNames": ["identity", "identity2"], "results": [["1", "2"]]}),
            "unknown_attribute",
        ),
    ],
)
def test_a_bad_reply_stays_with_its_router(change: Any, reason: str) -> None:
    """It is counted there, and the other routers' rows are what they are without it."""
    replay = Replay("qdrouterd")
    good, bad = begin(), begin()
    play(replay, good)
    play(replay, bad, lambda request, answer: [change(answer) if from_b(request) else answer])
    bad.expire(9)
    assert bad.asked["QDR.B"].faults[reason] == 1
    for router in ("QDR.A", "QDR.C", "QDR.E"):
        assert bad.asked[router].tables == good.asked[router].tables
        assert not bad.asked[router].faults


@pytest.mark.parametrize(("bytes_left", "result"), [(20, "timeout"), (-1, "bad_reply"), (-200, "bad_reply")])
def test_a_cut_reply_is_no_reply(bytes_left: int, result: str) -> None:
    """Half a map says nothing; cut before its correlation id, it cannot even be told whose it is."""
    replay = Replay("qdrouterd")
    polling = begin()
    play(
        replay,
        polling,
        lambda request, answer: [bytes(answer.encode()[:bytes_left]) if from_b(request) else answer],
    )
    polling.expire(9)
    assert polling.asked["QDR.B"].result == result
    assert sum(polling.faults.values()) + sum(polling.asked["QDR.B"].faults.values()) == 1
    assert polling.asked["QDR.C"].result == "ok"


def test_replies_to_nobody_and_repeats_change_nothing() -> None:
    """A wrong correlation id, none at all, and a second answer are counted and left aside."""
    replay = Replay("qdrouterd")
    good, odd = begin(), begin()
    play(replay, good)

    def change(request: Message, answer: Message) -> list[Message]:
        if not from_b(request):
            return [answer]
        stranger = Message(correlation_id="77777", properties=answer.properties, body=answer.body)
        nameless = Message(properties=answer.properties, body=answer.body)
        return [stranger, nameless, answer, answer]

    play(replay, odd, change)
    assert odd.done
    assert odd.faults == {"late_or_foreign": 1, "no_correlation": 1, "repeated": 1}
    assert {r: a.tables for r, a in odd.asked.items()} == {r: a.tables for r, a in good.asked.items()}


def test_a_router_that_says_it_is_another_is_not_believed() -> None:
    """An answer to B's address by C must not be shown as B's."""
    replay = Replay("qdrouterd")
    replay.capture["QDR.B"] = replay.capture["QDR.C"]
    polling = begin()
    play(replay, polling)
    assert polling.asked["QDR.B"].result == "bad_reply"
    assert polling.asked["QDR.B"].faults == {"identity": 1}


def test_an_entity_that_a_router_does_not_know_is_no_failure() -> None:
    """Older routers lack some; the others of that router hold."""
    replay = Replay("qdrouterd")
    replay.capture["QDR.B"]["connector"] = {"properties": {"statusCode": 400}}
    polling = begin()
    play(replay, polling)
    assert polling.asked["QDR.B"].result == "ok"
    assert polling.asked["QDR.B"].faults == {"status_4xx": 1}


def test_few_requests_wait_at_once_and_slow_routers_hold_no_places() -> None:
    """At most a window is in flight, for replies beyond it would be dropped; patience frees places."""
    known = {f"R{number}": KnownRouter("interior", schema.DISPATCH) for number in range(500)}
    polling = begin(**known)
    assert len(polling.take(0, 10_000)) == in_flight.MAX_WAITING
    assert polling.take(in_flight.PATIENCE_NS // 2, 10_000) == []
    assert polling.next_wake_ns() == in_flight.PATIENCE_NS
    assert len(polling.take(in_flight.PATIENCE_NS, 10_000)) == in_flight.MAX_WAITING


@pytest.mark.parametrize(("at_once", "own"), [(1, 1), (1000, 11)])
def test_it_knows_how_many_messages_of_its_own_there_were(at_once: int, own: int) -> None:
    """While a router told its links: all that were open, or became so; ten entities of one, and its nodes."""
    replay = Replay("qdrouterd")
    replay.replace("QDR.A", "router.node", [])
    replay.capture["GET-MGMT-NODES"]["body"] = []
    polling = begin()
    play(replay, polling, at_once=at_once)
    assert polling.done
    assert polling.asked["QDR.A"].own == own


def test_credit_is_respected() -> None:
    """No more is sent than the router takes."""
    assert len(begin().take(0, 1)) == 1
    assert begin().take(0, 0) == []


def test_names_that_cannot_be_addressed_are_not_asked() -> None:
    """A router id with a slash would lead elsewhere."""
    replay = Replay("qdrouterd")
    nodes = replay.rows("QDR.A", "router.node")
    replay.replace("QDR.A", "router.node", [*nodes, {**nodes[0], "id": "x/$management"}])
    polling = begin()
    play(replay, polling)
    assert {*polling.asked} == {*replay.routers}


def test_what_hardly_changes_is_not_asked_of_those_that_rest() -> None:
    """Its last rows stand, as if they had come again; all else is asked."""
    replay = Replay("qdrouterd")
    polling = Poll(schema.DISPATCH, {}, itertools.count(), rested={"QDR.B"})
    play(replay, polling)
    assert polling.done
    asked = {router: {*asked.tables} for router, asked in polling.asked.items()}
    assert asked["QDR.A"] - asked["QDR.B"] == {"allocator", "listener", "address_config"}
    whole, resting = polling.asked["QDR.A"], polling.asked["QDR.B"]
    seen = take_snapshot(resting, 0, 0, {"allocator": whole.tables["allocator"]})
    assert seen.rows("allocator") == whole.tables["allocator"].rows
    assert "allocator" not in seen.fresh
    assert "link" in seen.fresh
