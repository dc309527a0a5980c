"""What a deployment needs follows from what a path and a sample cost."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from deploy.cli import main
from streaming.sizing import Costs, need

COSTS = Costs(fixed=0.5, path=0.01, sample=1e-6, use=0.5)


def test_cores_are_those_that_the_load_takes_and_room_to_catch_up() -> None:
    """0.5 + 100 × 0.01 + 100,000 × 0.000001 = 1.6 cores; at half of their use 3.2, so 4."""
    assert need(100, 1_000, window_seconds=5, costs=COSTS).cores == 4


def test_one_path_needs_one_core() -> None:
    """A core is the least there is."""
    assert need(1, 1, window_seconds=5, costs=Costs(fixed=0.01, path=0.01, sample=0.0)).cores == 1


def test_partitions_follow_the_cores_and_are_not_fewer_than_the_default() -> None:
    """Two a core, so that none waits for another."""
    assert need(1, 1, window_seconds=5, costs=COSTS).kafka_partitions == 12
    assert need(1_000, 1, window_seconds=5, costs=COSTS).kafka_partitions == 2 * 22


def test_windows_of_a_day_are_counted_by_their_length() -> None:
    """17,280 times 5 s make a day."""
    assert need(3, 10, window_seconds=5, costs=COSTS).windows_a_day == 3 * 17_280


@pytest.mark.parametrize(("rate", "says"), [("0", "as fast as possible"), ("many", "many")])
def test_a_rate_that_tells_nothing_is_refused(rate: str, says: str) -> None:
    """With the reason."""
    found = CliRunner().invoke(main, ["size", "--paths", "3", "--rate", rate])
    assert found.exit_code == 2
    assert says in found.output


def test_the_command_tells_cores_partitions_and_bytes() -> None:
    """For a small deployment: ten paths of ten messages a second."""
    found = CliRunner().invoke(main, ["size", "--paths", "10", "--rate", "10/s"])
    assert found.exit_code == 0
    lines = [line.split() for line in found.output.splitlines()]
    assert ["samples", "100", "/s"] in lines
    assert ["partitions", "of", "inflight.samples", "12"] in lines
    # 100 samples of 20 bytes, 20 records of 1,170.
    assert ["bytes", "into", "Kafka", "25.4", "kB/s"] in lines
