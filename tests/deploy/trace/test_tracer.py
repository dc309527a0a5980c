"""A trace against replies of real routers, and against replies that no router would send; no sockets."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from played_trace import MS, SECOND, Played, Script
from proton import Message
from replay import Replay
from scripted import reply

from deploy.trace import result
from deploy.trace.tracer import REFRESH_NS

NAMES = {"qdrouterd": "QDR", "skrouterd": "SK"}
each = pytest.mark.parametrize("flavour", NAMES)


@each
def test_the_way_to_a_receiver(flavour: str) -> None:
    """closest/p2 of the captures: A, B, and C, where 30 wait for a receiver that gives no more credit."""
    played = Played(Replay(flavour), "closest/p2").play()
    name = NAMES[flavour]
    found = played.rows()
    assert [*found] == [f"{name}.A", f"{name}.B", f"{name}.C"]
    assert [row["role"] for row in found.values()] == ["here", "transit", "target"]
    assert [row["cost"] for row in found.values()] == [0, 1, 2]
    assert found[f"{name}.C"]["receivers"] == {"links": 1, "messages": 30, "credit": 0}
    assert found[f"{name}.C"]["link"] == {"links": 10, "messages": 0, "credit": 250}
    assert {row["sent"] for row in found.values()} == {3}
    assert {row["answered"] for row in found.values()} == {3}
    assert {row["median_ns"] for row in found.values()} == {10 * MS}
    assert played.findings() == []


@each
def test_all_routers(flavour: str) -> None:
    """Without an address: the edge as well, behind its interior router."""
    played = Played(Replay(flavour)).play()
    name = NAMES[flavour]
    found = [(row["router"], row["before"], row["role"]) for row in played.rows().values()]
    assert found == [
        (f"{name}.A", None, "here"),
        (f"{name}.B", f"{name}.A", "interior"),
        (f"{name}.E", f"{name}.B", "edge"),
        (f"{name}.C", f"{name}.B", "interior"),
    ]


@each
def test_a_broker_and_branches(flavour: str) -> None:
    """auto.q goes to C, whose only receiver is a broker; multicast/m to B and C."""
    name = NAMES[flavour]
    assert Played(Replay(flavour), "auto.q").play().rows()[f"{name}.C"]["role"] == "broker"
    assert Played(Replay(flavour), "multicast/m").play().trace.route.targets == [f"{name}.B", f"{name}.C"]


def test_an_address_that_nobody_receives_from() -> None:
    """It is told, and nothing is measured."""
    played = Played(Replay("qdrouterd"), "closest/unheard").play()
    assert played.trace.rounds == 0
    (text,) = played.findings()
    assert text.startswith("nobody receives from closest/unheard, as far as QDR.A knows")


def test_the_step_is_the_difference_of_medians() -> None:
    """Also where it is negative."""
    played = Played(Replay("qdrouterd"), "closest/p2")
    delays = {"QDR.B": 30 * MS, "QDR.C": 12 * MS}
    played.delay_ns = lambda request: delays.get(Replay("qdrouterd").router_of(request), 10 * MS)
    found = played.play().rows()
    assert [row["step_ns"] for row in found.values()] == [None, 20 * MS, -18 * MS]


def test_the_rate_is_bounded() -> None:
    """Of all requests, whatever the interval; so rounds take longer than was asked for."""
    played = Played(Replay("qdrouterd"), rounds=5, interval_ns=10 * MS, rate=10.0).play()
    times = [at_ns for at_ns, _ in played.asked]
    gaps = [after - before for before, after in pairwise(times)]
    assert min(gaps) >= SECOND // 10
    assert {row["sent"] for row in played.rows().values()} == {5}


def test_links_are_asked_for_seldom() -> None:
    """Round trips are reads of one address; tables of links come once every five seconds at the most."""
    played = Played(Replay("qdrouterd"), "closest/p2", rounds=20).play()
    links = [
        at_ns
        for at_ns, message in played.asked
        if message.properties.get("entityType", "").endswith("router.link") and "QDR.C" in message.address
    ]
    assert len(links) in {4, 5}
    assert min(b - a for a, b in pairwise(links)) >= REFRESH_NS - SECOND
    operations = {message.properties["operation"] for _, message in played.asked}
    assert operations == {"QUERY", "READ"}


def test_a_router_that_hangs() -> None:
    """What it does not tell is waited for once; the rest is measured, and the silent ones are named."""
    replay = Replay("qdrouterd")
    replay.silent = {"QDR.B", "QDR.C"}
    played = Played(replay, "closest/p2").play()
    found = played.rows()
    assert [*found] == ["QDR.A", "QDR.B", "QDR.C"]
    assert [row["missing_percent"] for row in found.values()] == [0, 100, 100]
    assert found["QDR.C"]["sure"] is False
    assert played.findings() == ["QDR.B does not answer", "QDR.C does not answer"]


def test_one_that_falls_silent() -> None:
    """It was on the way, is measured on, and is named in the end."""
    replay = Replay("qdrouterd")
    played = Played(replay, "closest/p2", rounds=8)
    for now_ns in played.steps():
        if now_ns > 8 * SECOND:
            replay.silent = {"QDR.C"}
    assert 0 < played.rows()["QDR.C"]["missing_percent"] < 100
    assert played.findings() == ["QDR.C does not answer"]


def test_late_answers_are_matched() -> None:
    """An answer that takes longer than the interval counts for its own request."""
    played = Played(Replay("qdrouterd"), "closest/p2", rounds=6, timeout_ns=4 * SECOND)
    slow = {"READ": 2500 * MS}
    played.delay_ns = lambda request: slow.get(request.properties["operation"], 10 * MS)
    found = played.play().rows()
    assert {row["best_ns"] for row in found.values()} == {2500 * MS}
    assert {row["missing_percent"] for row in found.values()} == {0}


def test_requests_that_come_back() -> None:
    """No way to a router, or no right to ask it: two different findings."""
    for denied, text in ((False, "QDR.C does not answer (no way to it (released))"), (True, "no right to")):
        replay = Replay("qdrouterd")
        replay.silent = {"QDR.C"}
        played = Played(replay, "closest/p2")
        for _ in played.steps():
            for number, (_, message) in enumerate(played.asked):
                if "QDR.C" in message.address:
                    played.trace.undelivered(str(number + 1), "released", denied=denied)
        (found,) = played.findings()
        assert found.startswith(text)
        assert ("deploy/rights/README.md" in found) == denied


def test_the_first_router_may_not_be_asked() -> None:
    """That is the end, with the reason."""
    played = Played(lambda _request: [])
    played.trace.take(played.now_ns, 100)
    played.trace.undelivered("1", "rejected", denied=True)
    assert played.trace.over(played.now_ns)
    assert played.trace.failure
    assert played.trace.failure.reason == "denied"
    assert played.trace.local is None


def hostile(change: Callable[[Message, Message], list[Message | bytes]]) -> Script:
    replay = Replay("qdrouterd")

    def script(request: Message) -> list[Message | bytes]:
        return [one for answer in replay(request) for one in change(request, answer)]  # type: ignore[arg-type]

    return script


def _many_routers(request: Message, answer: Message) -> list[Message | bytes]:
    if request.properties.get("type", "").endswith("router.address"):
        return [reply(request, {"key": "M0x", "remoteHostRouters": [f"R{n}" for n in range(50_000)]})]
    return [answer]


@pytest.mark.parametrize(
    "change",
    [
        lambda _request, _answer: [b"\x00\x53\x77\xa1"],
        lambda request, _answer: [reply(request, "text")],
        lambda request, _answer: [reply(request, {"key": 7, "remoteHostRouters": [None, {}]})],
        lambda request, _answer: [reply(request, None, 500, "no" * 10_000)],
        lambda _request, answer: [answer, answer, answer],
        lambda request, answer: (
            [Message(correlation_id="999999", body={}), answer]
            if request.properties["operation"] == "READ"
            else [answer]
        ),
        lambda request, answer: (
            [reply(request, {**answer.body, "remoteHostRouters": ["a/b", "", " ", "QDR.C", "ü" * 900]})]
            if request.properties["operation"] == "READ" and "_topo" not in request.address
            else [answer]
        ),
        _many_routers,
    ],
    ids=["cut", "text", "types", "refused", "thrice", "foreign", "names", "many"],
)
def test_hostile_replies(change: Callable[[Message, Message], list[Message | bytes]]) -> None:
    """Whatever a router says, the trace ends, and names and numbers of routers stay bounded."""
    played = Played(hostile(change), "closest/p2").play()
    assert len(played.trace.routers) <= 200
    for router, traced in played.trace.routers.items():
        assert "/" not in router
        assert len(router) <= 512
        assert len(traced.note) <= 200
    result.as_json(played.trace, "amqp://x", played.now_ns)


def test_an_unknown_type_means_the_other_flavour() -> None:
    """A router in the middle of another make is asked in its own words."""
    sk, names = Replay("skrouterd"), ("entityType", "type")

    def script(request: Message) -> list[Message | bytes]:
        for name in names:
            if request.properties.get(name, "").startswith("org.apache."):
                return [reply(request, {}, 400, "No such entity type")]
        return sk(request)

    played = Played(script, "closest/p2").play()
    assert [*played.rows()] == ["SK.A", "SK.B", "SK.C"]
    assert played.findings() == []


def test_stopped_while_it_looks_for_the_way() -> None:
    """Nothing is said of receivers that were not looked for yet."""
    played = Played(Replay("qdrouterd"), "closest/p2")
    for _ in played.steps():
        if played.trace.local is not None:
            break
    assert played.trace.began_ns is None
    assert played.findings() == []


def test_a_way_that_is_lost() -> None:
    """The first router forgets the receivers: what was on the way is measured on, and shown as left."""
    replay = Replay("qdrouterd")
    played = Played(replay, "closest/p2", rounds=9)
    for now_ns in played.steps():
        if now_ns > 7 * SECOND and "QDR.C" not in replay.silent:
            replay.silent = {"QDR.B", "QDR.C"}
            for entity, key in (("router.address", "identity"), ("router.node", "id")):
                rows = replay.rows("QDR.A", entity)
                replay.replace(
                    "QDR.A",
                    entity,
                    [row for row in rows if row[key] not in {"M0closest/p2", "QDR.B", "QDR.C"}],
                )
    found = played.rows()
    assert [(name, row["role"]) for name, row in found.items()] == [
        ("QDR.A", "here"),
        ("QDR.B", "left"),
        ("QDR.C", "left"),
    ]
    assert {row["sent"] for row in found.values()} == {9}
    assert played.findings() == [
        "QDR.A no longer knows of anybody who receives from closest/p2",
        "QDR.B does not answer",
        "QDR.C does not answer",
    ]
