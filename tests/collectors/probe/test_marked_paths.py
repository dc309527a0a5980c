"""Marked paths through stand-ins, real routers and a real broker: two addresses, one stream of numbers."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from helpers import wait_until
from real_routers import each_program, running
from real_routers import line as line_of
from replay import PREFIXES
from standin_clients import Clients, Requester, StandIn

from collectors.contract.records import SECOND_NS
from collectors.probe.measure.guard import Guard
from deploy.lab.lab import Lab

if TYPE_CHECKING:
    from deploy.embedded.programs.artemis import Artemis

pytestmark = pytest.mark.slow

_NS = 2 * SECOND_NS  # of a colour


def _config(url: str, address: str, settings: str, to: str = "") -> str:
    return f"""
endpoints: {{a: {{url: "{url}"}}, b: {{url: "{to or url}"}}}}
defaults: {{window: 1s, settle: 2s, marking: 2s, rate: 100/s}}
paths: {{p: {{from: a, to: b, address: "{address}", {settings}}}}}
"""


def _colours(measured: Any, ns: int = _NS) -> set[int]:
    """Those of the windows in which messages were sent."""
    return {row["window_start_ns"] // ns % 2 for row in measured.rows("p") if row["sent"]}


@pytest.mark.parametrize("settings", ["presettled: true", "senders: 2, receivers: 3", "size: 64B-1kB"])
def test_all_arrive_once_and_in_order(router: StandIn, run: Any, settings: str) -> None:
    """Over changes of the colour; the router counts each block's messages at that colour's address."""
    address = f"balanced/{settings[:7]}"
    measured = run(_config(f"amqp://127.0.0.1:{router.port}", address, f"count: 500, {settings}"))
    measured.wait_finished()
    clients = Clients()
    rows = Requester(clients, router.port).rows("org.apache.qpid.dispatch.router.address")
    clients.close()
    measured.finish()
    assert measured.total("p") == {"sent": 500, "received": 500, "due": 500}
    sent = [0, 0]
    for row in measured.rows("p"):
        sent[row["window_start_ns"] // _NS % 2] += row["sent"]
    counted = {row["key"][-1]: row["deliveriesIngress"] for row in rows if f"{address}/" in row["key"]}
    assert counted == {"0": sent[0], "1": sent[1]}
    assert min(sent) > 0


@pytest.mark.parametrize("presettled", ["true", "false"])
def test_the_router_goes_in_the_middle_of_a_block(tmp_path: Path, run: Any, presettled: str) -> None:
    """It comes back: both links do, the numbers go on in both colours, and the classes add up."""
    router = StandIn(tmp_path, "R")
    url = f"amqp://127.0.0.1:{router.port}"
    measured = run(_config(url, "closest/back", f"presettled: {presettled}"))
    measured.wait_sent(50)
    router.process.kill()
    router.process.wait()
    wait_until(lambda: measured.prober.not_ready() is not None, 20, "the links to be gone")
    router.start()
    wait_until(lambda: measured.prober.not_ready() is None, 30, "both links of both ends to be back")
    measured.wait_sent(measured.sent + 500)
    measured.finish()
    router.stop()
    total = measured.total("p")  # which adds up the classes of each window
    assert total["sent"] == measured.sent
    assert total["received"] >= measured.sent - 100
    assert total["reordered"] == total["duplicate"] == total["unexpected"] == 0
    assert _colours(measured) == {0, 1}
    assert len({r.header.run for r in measured.records if r.header.role == "sender"}) == 1


def test_a_receiver_elsewhere_is_heard_of(router: StandIn, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sender's guard learns from another process how far the one stream has come, in either colour."""
    reports: list[int] = []
    report = Guard.report
    monkeypatch.setattr(
        Guard, "report", lambda self, *told: (reports.append(told[2]), report(self, *told))[1]
    )
    text = _config(f"amqp://127.0.0.1:{router.port}", "closest/apart", "senders: 1")
    receiving = run(text, send=False)
    sending = run(text, receive=False, shared_with=receiving)
    sending.wait_sent(500)
    wait_until(lambda: max(reports, default=0) > 400, 20, "the receiver to be heard of")
    sending.finish()
    receiving.finish()
    assert receiving.total("p")["received"] == sending.sent


@pytest.fixture(scope="module", **each_program)
def line(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A - B - C."""
    with running(line_of(request.param), tmp_path_factory.mktemp("real-line")) as lab:
        yield lab


@pytest.mark.parametrize("presettled", ["true", "false"])
def test_over_two_hops_of_real_routers(line: Lab, run: Any, presettled: str) -> None:
    """Every message of every block is received once, in order."""
    near, far = line.routers["A"].url, line.routers["C"].url
    settings = f"count: 500, presettled: {presettled}"
    measured = run(_config(near, f"inflight/marked-{presettled}", settings, far))
    measured.wait_finished()
    measured.finish()
    assert measured.total("p") == {"sent": 500, "received": 500, "due": 500}
    assert _colours(measured) == {0, 1}


def _counted(line: Lab, address: str) -> dict[tuple[str, str], Counter[str]]:
    """By router and colour: what it counted of the address, and what its links to receivers dropped."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for name, router in line.routers.items():
        clients = Clients()
        asks = Requester(clients, int(router.url.rpartition(":")[2]))
        entities = PREFIXES[line.plan.topology.program] + "router."
        rows = [*asks.rows(f"{entities}address"), *asks.rows(f"{entities}link")]
        clients.close()
        for row in rows:
            of = row.get("key") or (row.get("linkType") == "endpoint" and row.get("owningAddr")) or ""
            if f"{address}/" in of:
                counts = {count: row[count] for count in _COUNTS if row.get(count)}
                found.setdefault((name, of[-1]), Counter()).update(counts)
    return found


_COUNTS = ("deliveriesIngress", "deliveriesTransit", "deliveriesEgress", "droppedPresettledCount")


def test_what_each_hop_lost_adds_up(line: Lab, run: Any) -> None:
    """By colour, however many are dropped where: nothing is missing that no hop shows, to the message."""
    near, far = line.routers["A"].url, line.routers["C"].url
    settings = "rate: 3000/s, count: 20000, presettled: true, credit: 1"
    measured = run(_config(near, "inflight/lossy", settings, far))
    measured.wait_finished()
    found: list[dict[tuple[str, str], Counter[str]]] = [{}]

    def stands_still() -> bool:
        found.append(_counted(line, "inflight/lossy"))
        return found[-1] == found[-2]

    wait_until(stands_still, 60, "counters that stand still", every_seconds=1)
    measured.finish()
    total = {colour: Counter[str]() for colour in "01"}
    for row in measured.rows("p"):
        colour = str(row["window_start_ns"] // _NS % 2)
        total[colour].update({"sent": row["sent"], "received": row["classes"]["received"]})
    for colour in "01":
        at = {router: found[-1][router, colour] for router in "ABC"}
        assert at["A"]["deliveriesIngress"] == at["A"]["deliveriesTransit"] == total[colour]["sent"] > 0
        lost_at_hops = (
            at["A"]["deliveriesTransit"] - at["B"]["deliveriesTransit"],
            at["B"]["deliveriesTransit"] - at["C"]["deliveriesEgress"],
            at["C"]["droppedPresettledCount"],
        )
        assert min(lost_at_hops) >= 0
        assert sum(lost_at_hops) == total[colour]["sent"] - total[colour]["received"]


@pytest.mark.e2e
@pytest.mark.parametrize("settings", ["durable: true", "presettled: true"])
def test_through_two_queues_of_a_broker(artemis: Artemis, run: Any, settings: str) -> None:
    """Each colour has a queue of its own, which the address-settings of the base address give it."""
    address = f"inflight.marked.{next(_numbers)}"
    measured = run(_config(artemis.amqp_url, address, f"count: 500, {settings}"))
    measured.wait_finished()
    measured.finish()
    assert measured.total("p") == {"sent": 500, "received": 500, "due": 500}
    assert _colours(measured) == {0, 1}


@pytest.fixture(scope="module", params=["stand-in", "qdrouterd"])
def with_queues(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A - B - C and a broker at C, whose two queues have auto-links."""
    topology = line_of(brokers=("store",))
    queues = [f"inflight.marked/{colour}" for colour in (0, 1)]
    links = [one.model_copy(update={"queues": queues}) if one.queues else one for one in topology.links]
    store = topology.brokers["store"].model_copy(update={"queues": queues})
    changed = topology.model_copy(update={"links": links, "brokers": {"store": store}})
    stand_ins = request.param == "stand-in"
    with running(changed, tmp_path_factory.mktemp("queues"), stand_ins=stand_ins) as lab:
        yield lab


@pytest.mark.e2e
def test_through_routers_and_two_queues(with_queues: Lab, run: Any) -> None:
    """In by the address of a colour and out by the same: what waits in either queue is no loss."""
    near, far = with_queues.routers["A"].url, with_queues.routers["C"].url
    text = f"""
endpoints: {{a: {{url: "{near}"}}, c: {{url: "{far}"}}}}
brokers: {{store: {{jolokia: "http://127.0.0.1:1/", interval: 100ms}}}}
defaults: {{window: 1s, ttl: 3s, marking: 3s, rate: 100/s, count: 700}}
paths: {{p: {{from: a, to: c, address: inflight.marked, via: store}}}}
"""
    measured = run(text)
    measured.wait_finished()
    measured.finish()
    assert measured.total("p") == {"sent": 700, "received": 700, "due": 700}
    assert _colours(measured, 3 * SECOND_NS) == {0, 1}


_numbers = itertools.count()
