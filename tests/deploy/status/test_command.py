"""`inflight status` and `inflight collect` as commands."""

from __future__ import annotations

import base64
import json
import logging
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner
from helpers import free_port, wait_until
from jolokia import FakeJolokia
from kafka_topics import consume
from replay import Replay
from scripted import ScriptedNode
from standin_clients import StandIn

from collectors.contract import telemetry
from deploy.commands.status import command

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deploy.embedded.programs.kafka import Kafka
    from deploy.lab.lab import Lab


@pytest.fixture
def node() -> Iterator[ScriptedNode]:
    node = ScriptedNode(Replay("qdrouterd"))
    yield node
    node.close()


def test_a_mesh_as_json(node: ScriptedNode) -> None:
    """With no config: one URL is enough, all routers are there."""
    result = CliRunner().invoke(command, [node.url, "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert {row["router"] for row in found["routers"]} == {"QDR.A", "QDR.B", "QDR.C", "QDR.E"}
    assert {edge["edge"] for edge in found["edges"]} == {"QDR.A--QDR.B", "QDR.B--QDR.C", "QDR.B--QDR.E"}
    assert found["findings"][0]["text"] == "30 messages wait to go out"


def test_a_mesh_and_a_broker_of_one_name(node: ScriptedNode, tmp_path: Path) -> None:
    """Both are told of: the mesh that is well does not hide the broker that is not."""
    broker = {"jolokia": f"http://127.0.0.1:{free_port()}/jolokia", "origin": "http://127.0.0.1"}
    config = {"version": 1, "site": "s", "meshes": {"m": {"urls": [node.url]}}, "brokers": {"m": broker}}
    file = tmp_path / "inflight.yaml"
    file.write_text(yaml.safe_dump(config))
    result = CliRunner().invoke(command, ["-c", str(file), "--json"])
    assert result.exit_code == 1, result.output
    found = json.loads(result.output)
    assert {row["router"] for row in found["routers"]} == {"QDR.A", "QDR.B", "QDR.C", "QDR.E"}
    bad = [finding["text"] for finding in found["findings"] if finding["level"] == "bad"]
    assert len(bad) == 1
    assert "broker" in found["findings"][0]["where"] or "broker" in bad[0]


@pytest.mark.parametrize("flavour", ["dispatch", "skupper"])
def test_a_router_that_answers_as_the_real_ones(tmp_path: Path, flavour: str) -> None:
    """Stand-ins refuse what real routers refuse: nothing is wrong all the same, and nothing waits."""
    running = StandIn(tmp_path, "S", "--flavour", flavour)
    try:
        result = CliRunner().invoke(command, [f"amqp://127.0.0.1:{running.port}", "--json"])
    finally:
        running.stop()
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    (router,) = found["routers"]
    assert router["version"] == {"dispatch": "1.19.0-stand-in", "skupper": "main-stand-in"}[flavour]
    assert (router["connections"], router["undelivered"], router["unsettled"]) == (1, 0, 0)
    assert found["findings"] == []


def test_what_is_down_is_a_finding(node: ScriptedNode, caplog: pytest.LogCaptureFixture) -> None:
    """Exit status 1, and it is told beside what works; no log tells it again."""
    result = CliRunner().invoke(command, ["amqp://127.0.0.1:1", node.url, "--rows", "1"])
    assert result.exit_code == 1
    assert "cannot be reached" in result.output
    assert "QDR.C" in result.output
    assert not caplog.messages
    assert logging.getLogger("inflight.collect").level == logging.NOTSET  # others are heard again


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "give URLs, or a config file with -c"),
        (["router:5672"], "is not a URL like amqps://host:port"),
        (["amqp://user:secret@router"], "a URL must not hold a user or a password"),
        (["amqp://router", "--user", "u"], "--user and --password-file go together"),
        (
            ["amqp://a", "amqp://b", "--user", "u", "--password-file", __file__],
            "give each that wants a login",
        ),
        (["amqp://a", "--login", "amqp://u:secret@b", "u", __file__], "must not hold a user or a password"),
    ],
)
def test_misuse_is_told(arguments: list[str], text: str) -> None:
    """In one line, exit status 2."""
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 2
    assert text in result.output
    assert "secret" not in result.output


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def test_a_password_is_sent_to_its_own_url_only(node: ScriptedNode, tmp_path: Path) -> None:
    """Of two brokers and a router only the one that was given a login is told who asks."""
    secret = tmp_path / "password"
    secret.write_text("s3cr3t\n")
    servers = [FakeJolokia(lambda asked: (200, [{"status": 404} for _ in asked])) for _ in range(2)]
    urls = [node.url, servers[0].url, "--login", servers[1].url, "monitor", str(secret)]
    CliRunner().invoke(command, [*urls, "--timeout", "5"])
    told = [{headers.get("Authorization") for headers in server.headers} for server in servers]
    for server in servers:
        server.close()
    assert told == [{None}, {basic("monitor", "s3cr3t")}]
    servers = [FakeJolokia(lambda asked: (200, [{"status": 404} for _ in asked]))]
    alone = [servers[0].url, "--user", "monitor", "--password-file", str(secret), "--timeout", "5"]
    CliRunner().invoke(command, alone)
    servers[0].close()
    assert {headers.get("Authorization") for headers in servers[0].headers} == {basic("monitor", "s3cr3t")}


@pytest.mark.e2e
def test_two_urls_of_one_mesh(router_line: Lab) -> None:
    """Each router once, polled through the first; nothing is wrong."""
    urls = [router_line.routers[name].url for name in "AC"]
    result = CliRunner().invoke(command, [*urls, "--json"])
    assert result.exit_code == 0, result.output
    routers = [
        (row["router"], row["up"], row["cut_off_from"]) for row in json.loads(result.output)["routers"]
    ]
    assert sorted(routers) == [(f"{name}.stand-in", True, None) for name in "ABC"]


def test_two_urls_of_two_meshes(node: ScriptedNode) -> None:
    """All of both; that neither has a way to the other is told, and is no fault."""
    other = Replay("skrouterd")
    far = ScriptedNode(other, product=other.product)
    result = CliRunner().invoke(command, [node.url, far.url, "--json", "--timeout", "20"])
    far.close()
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert {row["router"] for row in found["routers"] if row["up"]} >= {"QDR.A", "QDR.E", "SK.A", "SK.E"}
    two = "no way to it from QDR.A: two meshes, or one in two parts"
    assert {"level": "odd", "where": "SK.A", "text": two} in found["findings"]


@pytest.mark.e2e
def test_collect_to_metrics_and_kafka(
    router_line: Lab, kafka: Kafka, tmp_path: Path, promtool: str | None
) -> None:
    """Every target on /metrics, clean to promtool; records in Kafka; a clean end at SIGTERM."""
    listen = f"127.0.0.1:{free_port()}"
    config = {
        **router_line.config(),
        "kafka": {"servers": [kafka.bootstrap], "prefix": "collecttest"},
        "state": str(tmp_path / "state"),
    }
    file = tmp_path / "inflight.yaml"
    file.write_text(yaml.safe_dump(config))
    arguments = ["collect", "-c", str(file), "--listen", listen, "--create-topics"]
    with subprocess.Popen([sys.executable, "-m", "deploy", *arguments]) as process:
        try:
            wait_until(lambda: get(listen, "/-/ready") == "ready\n", 40, "collect to be ready")
            router = 'router_up{mesh="line",router="C.stand-in"} 1.0'
            wait_until(lambda: router in get(listen, "/metrics"), 20, "the last router")
            wait_until(lambda: "broker_queue_messages{" in get(listen, "/metrics"), 20, "the queue")
            text = get(listen, "/metrics")
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
    if promtool:
        checked = subprocess.run(
            [promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False
        )
        assert checked.stdout + checked.stderr == ""
    told = consume(kafka.bootstrap, "collecttest.router", "collecttest.broker")
    seen = {(m.topic, r.target, r.entity) for m in told for r in [telemetry.decode(m.value)]}
    assert ("collecttest.router", "B.stand-in", "link") in seen
    assert ("collecttest.router", "", "mesh") in seen
    assert ("collecttest.broker", "store", "queue") in seen


def get(listen: str, path: str) -> str:
    with urllib.request.urlopen(f"http://{listen}{path}", timeout=5) as answer:
        text: str = answer.read().decode()
    return text


@pytest.fixture
def promtool() -> Any:
    """Where it is installed."""
    import shutil  # noqa: PLC0415 -- only here

    from helpers import missing  # noqa: PLC0415 -- only here

    return shutil.which("promtool") or missing("promtool")
