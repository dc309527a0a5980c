"""The process itself: what it says of a description that it cannot use, and the ceiling."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from deploy.loads import ceiling


def loads(text: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deploy.loads", *options]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "the description is no JSON and no YAML"),
        ("[]", "description: Input should be"),
        ("endpoints: {}\nloads: {}", "loads: Dictionary should have at least 1 item"),
    ],
)
def test_a_description_that_is_none_is_told_in_one_line(text: str, says: str) -> None:
    done = loads(text)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_file_that_cannot_be_written_is_told_before_anything_is_sent() -> None:
    text = json.dumps(
        {
            "endpoints": {"a": {"url": "amqp://127.0.0.1:1"}},
            "loads": {"x": {"kind": "ping-pong", "from": "a", "to": "a", "address": "x", "count": 1}},
        }
    )
    done = loads(text, "--out", "/nowhere/out")
    assert done.returncode == 2
    assert "cannot write /nowhere/out" in done.stderr


@pytest.mark.slow
def test_the_ceiling_is_that_of_a_generator_with_its_floor_beside() -> None:
    """Bare proton does less for each message than a generator does, whatever else the machine does."""
    found = ceiling.measure(seconds=1.0)
    assert found.messages_per_second > 0
    assert found.raw_messages_per_second > 0
    assert 0 < found.raw_cpu_ns_per_message < found.cpu_ns_per_message


def test_who_sends_nearly_all_it_can_is_at_the_ceiling() -> None:
    one = ceiling.Ceiling(10_000.0, 1, 20_000.0, 1)
    assert one.is_reached(9_500.0, 1)
    assert not one.is_reached(9_500.0, 2)
