"""Several URLs of a mesh: what one has no way to is polled through another, and told as cut off."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from helpers import wait_until
from proton import Message
from real_routers import line, running
from replay import Replay
from scripted import ScriptedNode

from collectors.router import schema
from collectors.router.asked import AskedRouter
from collectors.router.mesh_urls import MeshUrls
from collectors.router.poll import Poll

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from pathlib import Path

Watch = Callable[..., Any]
A, B, C, E = "QDR.A", "QDR.B", "QDR.C", "QDR.E"


class At(Replay):
    """A replayed mesh as it is seen from one of its routers."""

    def __init__(self, local: str, flavour: str = "qdrouterd") -> None:
        super().__init__(flavour)
        self.local = local
        self.asked: Counter[tuple[str, str]] = Counter()

    def router_of(self, request: Message) -> str:
        return self.local if request.address == schema.LOCAL else super().router_of(request)

    def __call__(self, request: Message) -> list[Message | bytes]:
        kind = request.properties.get("entityType", "nodes").rpartition(".")[2]
        self.asked[self.router_of(request), kind] += 1
        return super().__call__(request)


class Sites:
    """A mesh with two doors, at A and at C, and what is between them."""

    def __init__(self, near: At, far: At) -> None:
        self.near, self.far = near, far
        self.nodes = [ScriptedNode(near, product=near.product), ScriptedNode(far, product=far.product)]
        self.urls = [node.url for node in self.nodes]

    def part(self) -> None:
        """B and the way through it are gone."""
        self.near.silent, self.far.silent = {B, C, E}, {A, B, E}

    def join(self) -> None:
        self.near.silent, self.far.silent = set(), set()


@pytest.fixture
def sites() -> Iterator[Callable[[At, At], Sites]]:
    made: list[Sites] = []

    def make(near: At, far: At) -> Sites:
        made.append(Sites(near, far))
        return made[-1]

    yield make
    for each in made:
        for node in each.nodes:
            node.close()


def test_a_whole_mesh_is_polled_through_one_url(watch: Watch, sites: Any) -> None:
    """The other one is held ready: a connection, and one small question a poll."""
    mesh = sites(At(A), At(C))
    watching = watch(urls=mesh.urls)
    wait_until(
        lambda: mesh.far.asked[C, "router"] > 3 and len(watching.statuses) > 3, 15, "four polls of each"
    )
    assert {*mesh.far.asked} == {(C, "router")}
    assert [node.connections for node in mesh.nodes] == [1, 1]
    for router in (A, B, C, E):
        assert watching.value("router_up", router=router) == 1
    for url in mesh.urls:
        assert watching.value("mesh_url_up", url=url) == 1
    assert not any(each.cut_off for each in watching.statuses)
    assert watching.statuses[-1].settled


def test_what_one_url_has_no_way_to_is_polled_through_another(
    watch: Watch, sites: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """B is down; C is up with its values, and cut off from A: never down. When B is back, A polls all."""
    caplog.set_level("INFO", "inflight.collect")
    mesh = sites(At(A), At(C))
    watching = watch(urls=mesh.urls)
    wait_until(lambda: watching.statuses and watching.statuses[-1].settled, 15, "all to be seen")
    mesh.part()
    wait_until(lambda: watching.value("router_up", router=B) == 0, 15, "B to be down")
    wait_until(lambda: watching.value("router_cut_off", router=C, **{"from": A}) == 1, 15, "C to be cut off")
    assert watching.value("router_up", router=C) == watching.value("router_up", router=A) == 1
    assert watching.value("mesh_up") == 1
    told = f"router {C} is cut off from {A}: no reply from amqp:/_topo/0/{C}/$management in time"
    assert told in caplog.text
    assert f"router {C} is down" not in caplog.text
    assert not any(C in each.down for each in watching.statuses)
    assert not watching.statuses[-1].cut_off[C].stranger
    seen = len(watching.statuses)
    wait_until(lambda: any(C in each.polled for each in watching.statuses[seen:]), 15, "C to be polled")
    assert watching.value("router_stuck_deliveries", router=C) == 0
    newest = [record for _, record in watching.records if record.entity == "mesh"][-1]
    (row,) = [row for row in newest.rows if row.get("router") == C]
    assert row == {"kind": "router", "router": C, "up": True, "reason": f"cut off from {A}"}
    mesh.join()
    wait_until(lambda: watching.value("router_cut_off", router=C, **{"from": A}) is None, 20, "the way back")
    before = len(watching.statuses)
    wait_until(lambda: len(watching.statuses) > before + 2, 15, "three polls")
    mesh.far.asked.clear()
    wait_until(lambda: mesh.far.asked[C, "router"] > 1, 15, "two polls")
    assert {*mesh.far.asked} == {(C, "router")}


def test_two_meshes_by_mistake(watch: Watch, sites: Any) -> None:
    """All routers are up; those of the second are cut off from the first, and told as strangers."""
    mesh = sites(At(A), At("SK.C", "skrouterd"))
    watching = watch(urls=mesh.urls)
    wait_until(lambda: watching.value("router_cut_off", router="SK.C", **{"from": A}) == 1, 20, "a cut")
    wait_until(lambda: watching.statuses[-1].settled, 20, "all to be seen")
    each = watching.statuses[-1]
    assert {*each.snapshots} == {A, B, C, E, "SK.A", "SK.B", "SK.C", "SK.E"}
    assert {*each.cut_off} == {"SK.A", "SK.B", "SK.C", "SK.E"}
    assert all(found.stranger for found in each.cut_off.values())
    assert not each.down


def test_two_urls_of_one_router(watch: Watch, sites: Any) -> None:
    """It is one router, polled once; if the first URL goes, the second is taken."""
    mesh = sites(At(A), At(A))
    watching = watch(urls=mesh.urls)
    wait_until(lambda: mesh.far.asked[A, "router"] > 2 and watching.statuses[-1].settled, 15, "three polls")
    assert {*mesh.far.asked} == {(A, "router")}
    assert not watching.statuses[-1].cut_off
    mesh.nodes[0].close()
    wait_until(lambda: mesh.far.asked[A, "link"] > 1, 20, "polls through the second")
    assert watching.value("mesh_url_up", url=mesh.urls[0]) == 0
    assert watching.value("mesh_up") == watching.value("router_up", router=C) == 1
    assert not any(each.down or each.failure for each in watching.statuses)


@pytest.mark.e2e
@pytest.mark.parametrize("stopped", ["A", "C"])
def test_a_url_that_hangs_delays_nothing_and_comes_back(tmp_path: Path, watch: Watch, stopped: str) -> None:
    """SIGSTOP of the router behind it: the others are polled on; with SIGCONT it is up again."""
    with running(line(), tmp_path, stand_ins=True) as lab:
        urls = [lab.routers[name].url for name in "AC"]
        routers = [f"{name}.stand-in" for name in "ABC"]
        watching = watch(urls=urls)
        wait_until(lambda: watching.statuses and watching.statuses[-1].settled, 20, "all to be seen")
        lab.routers[stopped].pause()
        try:
            gone = f"{stopped}.stand-in"
            wait_until(lambda: watching.value("router_up", router=gone) == 0, 20, "it to be down")
            url = urls["AC".index(stopped)]
            wait_until(lambda: watching.value("mesh_url_up", url=url) == 0, 20, "its URL to be down")
            for _ in range(2):  # the others go on, poll after poll
                seen = len(watching.statuses)
                wait_until(
                    lambda seen=seen: (
                        {r for each in watching.statuses[seen:] for r in each.polled} == {*routers} - {gone}
                    ),
                    *(20, "polls of the others"),
                )
            assert watching.value("mesh_up") == 1
            assert not any({*each.down} - {gone} or each.failure for each in watching.statuses)
        finally:
            lab.routers[stopped].resume()
        wait_until(lambda: watching.value("router_up", router=gone) == 1, 40, "it to be back")
        wait_until(lambda: watching.value("mesh_url_up", url=url) == 1, 40, "its URL to be back")
        assert not any(each.cut_off for each in watching.statuses)


@pytest.mark.e2e
def test_a_router_between_two_urls_is_killed(tmp_path: Path, watch: Watch) -> None:
    """B is down, its links are; A and C are up all the time, C cut off from A until B is back."""
    with running(line(), tmp_path, stand_ins=True) as lab:
        watching = watch(urls=[lab.routers[name].url for name in "AC"])
        cut = {"router": "C.stand-in", "from": "A.stand-in"}
        wait_until(lambda: watching.statuses and watching.statuses[-1].settled, 20, "all to be seen")
        lab.routers["B"].kill()
        wait_until(lambda: watching.value("router_up", router="B.stand-in") == 0, 20, "B to be down")
        wait_until(lambda: watching.value("router_cut_off", **cut) == 1, 20, "C to be cut off")
        lab.routers["B"].start()
        wait_until(lambda: watching.value("router_cut_off", **cut) is None, 30, "C to be reached again")
        wait_until(lambda: watching.value("router_up", router="B.stand-in") == 1, 20, "B to be back")
        assert {router for each in watching.statuses for router in each.down} == {"B.stand-in"}


# -- who polls what, without connections


def polled(urls: MeshUrls, number: int, local: str, *, reaches: set[str], knows: set[str]) -> set[str]:
    """A poll through a URL; what it asked in whole."""
    poll = Poll(schema.DISPATCH, {}, itertools.count(), scope=urls.scope(number))
    scope = urls.scope(number)
    poll.local.router, poll.local.whole = local, scope(local) == "whole"
    poll.asked = {local: poll.local}
    for router in knows - {local}:
        if (asked := scope(router)) != "nothing":
            poll.asked[router] = AskedRouter("interior", "", schema.DISPATCH, guessed=False, router=router)
            poll.asked[router].whole = asked == "whole"
    for router, one in poll.asked.items():
        if router not in reaches | {local}:
            one.failure = ("unreachable", f"nobody at {router}")
    poll.heard = {local} | (reaches & knows)
    urls.polled(number, poll)
    return {router for router, one in poll.asked.items() if one.whole and not one.failure}


def test_each_router_is_polled_through_the_first_url_that_reaches_it() -> None:
    """Whatever fails and comes back, in the next but one poll of each; down is what none reaches."""
    everyone = {"A", "B", "C", "D"}
    urls = MeshUrls(["a", "c"])
    assert polled(urls, 1, "C", reaches=everyone, knows=everyone) == set()  # the first had no look yet
    assert urls.down("B") is None
    assert polled(urls, 0, "A", reaches=everyone, knows=everyone) == everyone
    assert polled(urls, 1, "C", reaches=everyone, knows=everyone) == set()
    assert polled(urls, 0, "A", reaches={"A"}, knows=everyone) == {"A"}
    assert {router: urls.down(router) for router in "BCD"} == dict.fromkeys("BCD")  # C has still to try
    assert polled(urls, 1, "C", reaches={"C", "D"}, knows=everyone) == {"C", "D"}
    assert urls.down("B") == "nobody at B"
    assert [router for router in sorted(everyone) if urls.cut_off(router)] == ["C", "D"]
    urls.lost(0, "gone")
    assert not any(urls.cut_off(router) for router in everyone)
    assert polled(urls, 1, "C", reaches=everyone, knows=everyone) == everyone
    assert polled(urls, 0, "A", reaches=everyone, knows=everyone) == set()  # it asks who is there
    assert polled(urls, 1, "C", reaches=everyone, knows=everyone) == set()
    assert polled(urls, 0, "A", reaches=everyone, knows=everyone) == everyone
    urls.lost(1, "gone, too")
    assert not urls.all_lost
    urls.lost(0, "gone")
    assert urls.all_lost


def test_a_router_that_may_not_be_asked_is_not_cut_off() -> None:
    """There is a way to it, and no right: it is polled through its own URL, and that is all."""
    urls = MeshUrls(["a", "c"])
    poll = Poll(schema.DISPATCH, {}, itertools.count())
    poll.local.router = "A"
    denied = AskedRouter(
        "interior", "", schema.DISPATCH, guessed=True, router="C", failure=("denied", "no right")
    )
    poll.asked = {"A": poll.local, "C": denied}
    urls.polled(0, poll)
    assert polled(urls, 1, "C", reaches={"C"}, knows={"C"}) == {"C"}
    assert urls.cut_off("C") is None
    assert urls.down("C") is None
