"""Peers that hang, go and come back, generators that stand still: told, and never waited for without end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import free_port, wait_until
from run_loads import LoadRun

from deploy.embedded.programs.artemis import Artemis

pytestmark = pytest.mark.e2e

LOADS: dict[str, dict[str, Any]] = {
    "one": {"kind": "ping-pong", "address": "inflight.f.one"},
    "pairs": {"kind": "pairs", "address": "inflight.f.pairs", "pairs": 2, "rate": "50/s"},
    "wide": {"kind": "bandwidth", "address": "inflight.f.wide", "window": 20},
    "ring": {"kind": "relay", "address": "inflight.f.ring", "clients": 3, "tokens": 2},
    "public": {"kind": "public", "address": "inflight.f.public", "producers": 2, "rate": "50/s"},
}


def described(url: str, *names: str, **more: Any) -> dict[str, Any]:
    loads = {}
    for name in names or LOADS:
        ends = {"at": "broker"} if LOADS[name]["kind"] == "relay" else {"from": "broker", "to": "broker"}
        loads[name] = {**LOADS[name], **ends, "durable": True, **more.get("each", {})}
    rest = {key: value for key, value in more.items() if key != "each"}
    return {"endpoints": {"broker": {"url": url}}, "loads": loads, **rest}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artemis]:
    """One that a test may end, if it starts it again."""
    with Artemis.alone(tmp_path_factory.mktemp("broker")) as running:
        yield running


def test_all_loads_go_on_when_a_broker_comes_back(broker: Artemis) -> None:
    """Of each more is received after its restart, and nothing is left without a class."""
    description = described(broker.amqp_url, each={"duration": "300s"}, settle="2s", patience="120s")
    with LoadRun(description) as run:
        wait_until(lambda: all_received(run, {}), 120, "messages")
        broker.restart()
        before = received(run)
        wait_until(lambda: all_received(run, before), 90, "messages after the restart")
        run.stop()
        found = run.end()
    assert found["stopped"] == "ended by its user"
    assert found["problems"] == []
    assert found["figures"]["all"]["sent"] == sum(
        f["sent"] for n, f in found["figures"].items() if n != "all"
    )


def received(run: LoadRun) -> dict[str, int]:
    return {name: counts["received"] for name, counts in run.progress()[-1]["paths"].items()}


def all_received(run: LoadRun, more_than: dict[str, int]) -> bool:
    return all(count > more_than.get(name, 0) + 5 for name, count in received(run).items())


def test_a_broker_that_is_gone_is_not_waited_for(broker: Artemis) -> None:
    """The run says that nothing moved, and why; what it has is told."""
    description = described(broker.amqp_url, "wide", each={"duration": "300s"}, settle="1s", patience="6s")
    with LoadRun(description) as run:
        run.wait_for("received", 50)
        broker.kill()
        found = run.end()
    broker.start()
    assert found["stopped"].startswith("nothing moved for ")
    assert "refused" in found["stopped"].lower()
    assert found["figures"]["wide"]["received"] >= 50


def test_a_broker_that_hangs_is_not_waited_for(broker: Artemis) -> None:
    """Its connections stay open, and nothing comes over them."""
    description = described(broker.amqp_url, "one", each={"duration": "300s"}, settle="1s", patience="6s")
    with LoadRun(description) as run:
        run.wait_for("received", 20)
        broker.pause()
        try:
            found = run.end()
        finally:
            broker.resume()
    assert found["stopped"].startswith("nothing moved for ")
    assert found["figures"]["one"]["received"] >= 20


def test_a_peer_that_is_not_there_is_told() -> None:
    description = described(f"amqp://127.0.0.1:{free_port()}", "one", each={"count": 5}, patience="2s")
    with LoadRun(description) as run:
        found = run.end()
        assert run.process.returncode == 1
    assert found["stopped"].startswith("nothing was sent: ")
    assert "refused" in found["stopped"].lower()
    assert found["figures"]["all"]["sent"] == 0


def test_a_receiver_that_stood_still_loses_nothing_of_a_queue(broker: Artemis) -> None:
    """Its generator is stopped while the other one sends, and goes on: what waited comes late."""
    each = {"rate": "200/s", "count": 800, "producers": 1}
    with LoadRun(described(broker.amqp_url, "public", each=each, processes=2)) as run:
        run.wait_for("received", 100)
        sending, receiving = run.generators()
        os.kill(receiving, signal.SIGSTOP)
        try:
            run.wait_for("sent", 700)
        finally:
            os.kill(receiving, signal.SIGCONT)
        found = run.end()
    figures = found["figures"]["public"]
    assert (figures["sent"], figures["lost"]) == (800, 0)
    assert figures["received"] == 800
    assert found["stood_still_seconds"][0] < found["stood_still_seconds"][1]
    assert found["stopped"] is None
    assert sending != receiving


def test_a_generator_that_stands_still_for_good_is_ended(broker: Artemis) -> None:
    """The run ends, says which one it was, and tells what the others know."""
    each = {"rate": "200/s", "count": 400, "producers": 1}
    description = described(broker.amqp_url, "public", each=each, processes=2, settle="1s", patience="4s")
    with LoadRun(description) as run:
        run.wait_for("received", 50)
        stopped = run.generators()[1]
        os.kill(stopped, signal.SIGSTOP)
        found = run.end()
        assert not Path(f"/proc/{stopped}").exists()
    figures = found["figures"]["public"]
    assert figures["sent"] == 400
    assert figures["unobserved"] > 0
    assert figures["lost"] == 0
    assert any(problem.startswith("generator 1 did not end within") for problem in found["problems"])


def test_a_generator_that_is_killed_ends_the_run(broker: Artemis) -> None:
    """What it had told counts, and of the rest nobody knows whether it came: it is unobserved, not lost."""
    each = {"rate": "200/s", "duration": "300s", "producers": 1}
    description = described(broker.amqp_url, "public", each=each, processes=2, settle="1s")
    with LoadRun(description) as run:
        run.wait_for("received", 800)
        os.kill(run.generators()[1], signal.SIGKILL)
        found = run.end()
        assert run.process.returncode == 1
    assert found["stopped"] == "generator 1 ended by itself: its log says why"
    assert found["figures"]["public"]["received"] > 0
    assert found["figures"]["public"]["lost"] == 0


def test_who_is_told_to_end_ends_with_what_it_has(broker: Artemis) -> None:
    description = described(broker.amqp_url, "one", "ring", each={"duration": "300s"}, processes=2)
    with LoadRun(description) as run:
        run.wait_for("received", 50)
        run.stop()
        found = run.end()
        assert run.process.returncode == 1
    assert found["stopped"] == "ended by its user"
    figures = found["figures"]["all"]
    assert figures["received"] == figures["sent"] >= 50


def test_generators_end_with_their_parent(broker: Artemis) -> None:
    """Killed, it can tell them nothing: the end of their input does."""
    with LoadRun(described(broker.amqp_url, "one", each={"duration": "300s"}, processes=2)) as run:
        run.wait_for("received", 5)
        generators = run.generators()
        run.process.kill()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in generators), 30, "their end")


def test_ctrl_c_ends_it_in_order(broker: Artemis) -> None:
    """At a terminal it reaches generators, too: they wait for what their parent says."""
    with LoadRun(described(broker.amqp_url, "one", each={"duration": "300s"}, processes=2)) as run:
        run.wait_for("received", 20)
        for pid in (*run.generators(), run.process.pid):
            os.kill(pid, signal.SIGINT)
        found = run.end()
    assert found["stopped"] == "ended by its user"
    assert found["problems"] == []
