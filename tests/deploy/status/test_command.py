"""`inflight status` and `inflight collect` as commands."""

from __future__ import annotations

import json
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
from replay import Replay
from scripted import ScriptedNode
from standin_clients import StandIn

from collectors import telemetry
from deploy.commands.status import command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deploy.embedded.kafka import Kafka
    from deploy.embedded.network import Network


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


def test_what_is_down_is_a_finding(node: ScriptedNode) -> None:
    """Exit status 1, and it is told beside what works."""
    result = CliRunner().invoke(command, ["amqp://127.0.0.1:1", node.url, "--rows", "1"])
    assert result.exit_code == 1
    assert "cannot be reached" in result.output
    assert "QDR.C" in result.output


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "give URLs, or a config file with -c"),
        (["router:5672"], "is not a URL like amqps://host:port"),
        (["amqp://user:secret@router"], "a URL must not hold a user or a password"),
        (["amqp://router", "--user", "u"], "--user and --password-file go together"),
    ],
)
def test_misuse_is_told(arguments: list[str], text: str) -> None:
    """In one line, exit status 2."""
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 2
    assert text in result.output
    assert "secret" not in result.output


@pytest.mark.e2e
def test_collect_to_metrics_and_kafka(
    router_line: Network, kafka: Kafka, tmp_path: Path, promtool: str | None
) -> None:
    """Every target on /metrics, clean to promtool; records in Kafka; a clean end at SIGTERM."""
    from kafka import KafkaConsumer  # noqa: PLC0415 -- slow to import

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
            router = 'router_up{mesh="demo",router="C.stand-in"} 1.0'
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
    consumer = KafkaConsumer(
        *("collecttest.router", "collecttest.broker"),
        bootstrap_servers=kafka.bootstrap,
        auto_offset_reset="earliest",
        consumer_timeout_ms=5000,
    )
    seen = {(m.topic, r.target, r.entity) for m in consumer for r in [telemetry.decode(m.value)]}
    consumer.close()
    assert ("collecttest.router", "B.stand-in", "link") in seen
    assert ("collecttest.router", "", "mesh") in seen
    assert ("collecttest.broker", "artemis", "queue") in seen


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
