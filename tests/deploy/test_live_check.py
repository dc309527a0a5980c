"""`inflight check --live` against stand-in routers and a real Artemis."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner
from jolokia import FakeJolokia
from standin_clients import StandIn

from collectors.broker import products
from collectors.broker.client import JolokiaClient, Search
from collectors.config import load
from collectors.config.model import Broker, Config
from deploy.commands.check import command
from deploy.live_check import run_checks
from deploy.live_check.brokers import check_brokers
from deploy.live_check.paths import check_paths
from deploy.live_check.result import Checked

if TYPE_CHECKING:
    from pathlib import Path

    from deploy.embedded.programs.artemis import Artemis
    from deploy.lab.lab import Lab


def config_of(lab: Lab, **changes: Any) -> dict[str, Any]:
    config = lab.config()
    config["paths"] = {
        "a-c": {"from": "A", "to": "C", "address": "inflight/a-c"},
        "orders": {"from": "A", "to": "C", "address": "inflight.store", "via": "store", "settle": "60s"},
        "news": {"from": "C", "to": ["A", "B"], "address": "multicast/inflight", "presettled": True},
    }
    config["defaults"] = {"horizon": "30m"}
    return config | changes


def parsed(config: dict[str, Any]) -> Config:
    return load.parse(yaml.safe_dump(config), "test.yaml")


def failures(found: list[Checked]) -> dict[str, Checked]:
    return {checked.what: checked for checked in found if not checked.ok}


@pytest.mark.e2e
def test_all_is_well(router_line: Lab, tmp_path: Path) -> None:
    """Each mesh URL, broker, end point and path is told as good, and the exit status is 0."""
    file = tmp_path / "inflight.yaml"
    file.write_text(yaml.safe_dump(config_of(router_line)))
    result = CliRunner().invoke(command, ["--live", str(file)])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()[1:]
    assert all(line.startswith("ok  ") for line in lines)
    for path in ("a-c", "orders", "news/A", "news/B"):
        assert any(line.startswith(f"ok   path {path}: a message took ") for line in lines)
    assert sum("3 routers answer" in line for line in lines) == 3


@pytest.mark.e2e
def test_each_failure_has_its_fix(router_line: Lab) -> None:
    """What is wrong, and lines to paste: a dead URL, a missing Origin, a link that is not as expected."""
    config = config_of(router_line)
    config["endpoints"]["C"]["url"] = "amqp://127.0.0.1:1"
    config["meshes"]["line"]["expect"] = ["A.stand-in--C.stand-in"]
    broker = config["brokers"]["store"]
    del broker["origin"]
    found = failures(list(run_checks(parsed(config))))
    endpoint = found["endpoint C at amqp://127.0.0.1:1"]
    assert "put its right host and port" in endpoint.fix
    assert found["path a-c"].text == "not tried: no login at C"
    (links, *_) = [checked for what, checked in found.items() if what.endswith(": links")]
    assert "A.stand-in--C.stand-in is missing" in links.text
    (origin,) = [checked for what, checked in found.items() if what.startswith("broker ")]
    assert "origin: http://127.0.0.1" in origin.fix
    assert "<allow-origin>http://127.0.0.1</allow-origin>" in origin.fix


@pytest.mark.e2e
def test_a_path_that_leads_nowhere(router_line: Lab) -> None:
    """Nobody gives credit: told with the queue's way through the routers where there should be one."""
    config = config_of(router_line)
    queue = {"from": "A", "to": "B", "address": "no.such.queue", "receive_address": "elsewhere"}
    config["paths"] = {
        "nowhere": {**queue, "via": "store", "settle": "60s"},
    }
    (failed,) = failures(list(check_paths(parsed(config)))).values()
    assert failed.text == "nobody gave credit for sending within 5 s"
    assert "autoLink { address: no.such.queue; connection: " in failed.fix
    assert '<address-setting match="inflight.#">' in failed.fix


FAN_OUT = {
    # What is sent to, and whether each of two receivers at the broker gets each message.
    "inflight.check.queue": False,
    "multicast.inflight.check": True,
}


@pytest.mark.e2e
@pytest.mark.parametrize("address", FAN_OUT)
def test_each_target_of_a_fan_out_gets_each_message(artemis: Artemis, address: str) -> None:
    """A queue's receivers share its messages: a fan-out over it would lose half at each, and is told so."""
    config = {
        "version": 1,
        "site": "s",
        "endpoints": {name: {"url": artemis.amqp_url} for name in ("a", "L", "M")},
        "paths": {"news": {"from": "a", "to": ["L", "M"], "address": address}},
    }
    found = [checked for checked in check_paths(parsed(config)) if checked.what.startswith("path ")]
    assert [checked.what for checked in found] == ["path news/L", "path news/M"]
    assert [checked.ok for checked in found] == [FAN_OUT[address]] * 2, found
    if not FAN_OUT[address]:
        text = "4 messages were sent, and each went to one target only, not to all: L 2, M 2"
        assert {checked.text for checked in found} == {text}
        assert f'<address name="{address}"><multicast/></address>' in found[0].fix


@pytest.mark.e2e
def test_a_fan_out_over_a_line_of_routers(router_line: Lab) -> None:
    """Right by a multicast address; by one whose nearest receiver gets all, the farther one is told."""
    config = config_of(router_line)
    flow = {"from": "A", "to": ["B", "C"]}
    config["paths"] = {
        "right": {**flow, "address": "multicast/inflight.check"},
        "wrong": {**flow, "address": "closest/inflight.check"},
    }
    found = failures(list(check_paths(parsed(config))))
    assert {*found} == {"path wrong/C"}
    failed = found["path wrong/C"]
    assert failed.text == "4 messages were sent, and each went to one target only, not to all: B 4, C 0"
    assert "address { prefix: closest/inflight.check; distribution: multicast }" in failed.fix


@pytest.mark.e2e
def test_a_durable_subscription_is_looked_at_and_left_alone(artemis: Artemis) -> None:
    """Its links are tried without a message: nothing waits in the topic's queues, none is made."""
    config = {
        "version": 1,
        "site": "s",
        "endpoints": {"a": {"url": artemis.amqp_url}},
        "paths": {
            "topic": {"from": "a", "to": "a", "address": "inflight.check.topic", "subscription": "kept"}
        },
    }
    (login, path) = check_paths(parsed(config))
    assert login.ok
    assert path.ok, path.text
    assert "no message was sent" in path.text
    client = JolokiaClient(
        Broker.model_validate({"jolokia": artemis.jolokia_url, "origin": artemis.origin, **auth(artemis)})
    )
    pattern = products.ARTEMIS.queue.pattern.format(queue="*")
    (found,) = client.ask([Search(pattern)], time.monotonic() + 10)
    client.close()
    assert not [name for name in found["value"] if "kept" in name]
    config["endpoints"]["b"] = {"url": "amqp://127.0.0.1:1"}
    config["paths"]["topic"]["to"] = "b"
    told = {checked.what: checked.text for checked in check_paths(parsed(config))}
    assert told["path topic"] == "not tried: no login at b"


@pytest.mark.slow
def test_both_addresses_of_a_marked_path_are_tried(tmp_path: Path) -> None:
    """Each is told by itself: one may be there, and the other not."""
    router = StandIn(tmp_path, "R")
    router.tell(kind="reject", address="closest/marked/1", count=1)
    config = {
        "version": 1,
        "site": "s",
        "endpoints": {"a": {"url": f"amqp://127.0.0.1:{router.port}"}},
        "paths": {"p": {"from": "a", "to": "a", "address": "closest/marked", "marking": "5s"}},
    }
    (login, first, second) = check_paths(parsed(config))
    router.stop()
    assert login.ok
    assert (first.what, first.ok) == ("path p at closest/marked/0", True)
    assert (second.what, second.ok) == ("path p at closest/marked/1", False)
    assert "not accepted" in second.text


def auth(artemis: Artemis) -> dict[str, Any]:
    return {"auth": {"user": artemis.user, "password_file": str(artemis.password_file)}}


def test_clocks_that_differ() -> None:
    """The broker's clock is compared with ours, by the time in its replies."""
    broker = 'org.apache.activemq.artemis:broker="b"'

    def answer(asked: Any) -> tuple[int, Any]:
        replies = []
        for request in asked:
            value: Any = [broker] if "artemis" in request["mbean"] else []
            if request["type"] == "read":
                value = {broker: {"Version": "2.44.0"}} if request["mbean"].endswith("broker=*") else {}
            replies.append({"status": 200, "timestamp": 1_000_000_000, "value": value})
        return 200, replies

    server = FakeJolokia(answer)
    config = {"version": 1, "site": "s", "brokers": {"b": {"jolokia": server.url}}}
    found = failures(list(check_brokers(parsed(config))))
    server.close()
    (failed,) = found.values()
    assert failed.what.endswith(": clock")
    assert "have a time service on both" in failed.fix
