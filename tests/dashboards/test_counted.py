"""Lost and refused over a time, as a panel asks for them: whole messages, as a real Prometheus reckons."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from helpers import missing

from dashboards.queries.counted import counted

_LOST = 'inflight_path_messages_total{mesh="m",path="p",class="lost"}'
_FROM = 'inflight_path_reclassified_messages_total{mesh="m",path="p",from="lost",to="received"}'
_TO = 'inflight_path_reclassified_messages_total{mesh="m",path="p",from="unobserved",to="lost"}'


@pytest.mark.parametrize(
    ("story", "lost", "came", "went", "expected"),
    [
        ("all of it within the range", "0x34 143x16", "0x50", "0x50", 143),
        ("some before the range", "7x34 150x16", "0x50", "0x50", 143),
        ("some arrived after all", "0x34 143x16", "0x50", "0x40 3x10", 140),
        ("some turned out to be lost", "0x34 143x16", "0x40 2x10", "0x50", 145),
        ("all of it before the range", "0x10 143x40", "0x50", "0x50", 0),
        ("the path came within the range", "_x34 143x16", "_x34 0x16", "_x34 0x16", 143),
        ("counters began anew within the range", "500x34 20x16", "9x34 0x16", "9x34 0x16", 20),
        ("what was lost before arrived now", "7x50", "0x50", "0x34 7x16", 0),
    ],
)
def test_what_was_lost_is_told_to_the_message(
    story: str, lost: str, came: str, went: str, expected: int, tmp_path: Path
) -> None:
    """However the counters' samples lie to the edges of the range; increase() would say 145 for 143."""
    if shutil.which("promtool") is None:
        missing("promtool")
    expression = counted("lost", 'mesh=~"m"').replace("$__range", "5m")
    series = {_LOST: lost, _TO: came, _FROM: went}
    test = {
        "name": story,
        "interval": "15s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": expression,
                "eval_time": "727s",
                "exp_samples": [{"labels": '{mesh="m",path="p"}', "value": expected}],
            }
        ],
    }
    file = tmp_path / "counted.yml"
    file.write_text(yaml.safe_dump({"rule_files": [], "tests": [test]}))
    done = subprocess.run(
        ["promtool", "test", "rules", str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
