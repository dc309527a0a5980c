"""`inflight event`: to a real Kafka, and to the exporter that reads it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result
from helpers import free_port
from kafka_topics import consume

from collectors.contract import events
from deploy.cli import main

if TYPE_CHECKING:
    from deploy.embedded.programs.kafka import Kafka


def tell(folder: Path, servers: str, *arguments: str) -> Result:
    """The command with a config that has this Kafka."""
    config = folder / "inflight.yaml"
    config.write_text(f"version: 1\nsite: here\nkafka: {{servers: ['{servers}'], prefix: told}}\n")
    return CliRunner().invoke(main, ["event", "-c", str(config), *arguments])


@pytest.mark.e2e
def test_maintenance_is_told(kafka: Kafka, tmp_path: Path) -> None:
    """From now for as long as was said, of the paths that were named."""
    kafka.make_topics("told")
    before_ns = time.time_ns()
    told = ("maintenance", "new version", "--for", "2h", "--path", "a-*", "--path", "b")
    done = tell(tmp_path, kafka.bootstrap, *told)
    assert (done.exit_code, done.output) == (0, "")
    (message,) = consume(kafka.bootstrap, "told.events")
    event = events.decode(message.value)
    assert before_ns <= event.at_ns <= time.time_ns()
    assert event == events.Event(
        event.at_ns, event.at_ns + 2 * 3_600 * 10**9, "maintenance", ("a-*", "b"), "new version"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("maintenance", "x"), "say how long the maintenance goes on, like --for 2h"),
        (("deploy", "x" * 2_000), "not a text of at most 1024 characters"),
        (("fault", "x", "--for", "soon"), "'soon' is not a duration"),
        (("party", "x"), "'party' is not one of 'maintenance', 'fault', 'deploy'"),
    ],
)
def test_what_cannot_be_told(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    """Misuse, before Kafka is asked for."""
    done = tell(tmp_path, "127.0.0.1:1", *arguments)
    assert done.exit_code == 2
    assert told in done.output


@pytest.mark.slow
def test_a_kafka_that_is_not_there(tmp_path: Path) -> None:
    """In one line, with its address and the topic."""
    servers = f"127.0.0.1:{free_port()}"
    done = tell(tmp_path, servers, "deploy", "x")
    assert done.exit_code == 2
    assert done.output.startswith(f"inflight: Kafka at {servers} did not take a record on told.events: ")
    assert done.output.count("\n") == 1


def test_without_a_kafka_it_goes_to_a_file(tmp_path: Path) -> None:
    """In the config's `state` folder, where `inflight run` reads it."""
    config = tmp_path / "inflight.yaml"
    config.write_text(f"version: 1\nsite: here\nstate: {tmp_path}/state\n")
    for text in ("new version", "and another"):
        done = CliRunner().invoke(main, ["event", "-c", str(config), "deploy", text])
        assert (done.exit_code, done.output) == (0, "")
    lines = (tmp_path / "state/events.jsonl").read_bytes().splitlines()
    assert [events.decode(line).text for line in lines] == ["new version", "and another"]
