"""When the first alert told of an event, as promtool's Prometheus evaluates the recording rules."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from helpers import missing

from dashboards.alerts.files import FOLDER
from dashboards.queries import overview

pytestmark = pytest.mark.slow

_E: Final = 'kind="fault",do="kill",what="B",text="router B down",at="x"'
_BEGUN: Final = f"inflight_event_begun_timestamp_seconds{{{_E}}}"
_ENDED: Final = f"inflight_event_ended_timestamp_seconds{{{_E}}}"


def _router(name: str) -> str:
    return f'ALERTS{{alertname="RouterDown",alertstate="firing",router="{name}"}}'


# Each 5 s a value; the event is from 30 s to 60 s, and heard of by Prometheus from 45 s on unless said.
_EVENT: Final = {_BEGUN: "_x9 30x191", _ENDED: "_x12 60x188"}
STORIES: Final[dict[str, tuple[dict[str, str], float | None]]] = {
    "the first of two alerts": (
        {**_EVENT, _router("B"): "_x10 1x190", _router("C"): "_x14 1x186"},
        20,  # the 11th value is at 50 s
    ),
    "an alert before the event was heard of": ({**_EVENT, _router("B"): "_x7 1x193"}, 5),
    "none": (_EVENT, None),
    "one that fired before, and goes on": ({**_EVENT, _router("A"): "1x200"}, None),
    "one that fired before, and one of the event": (
        {**_EVENT, _router("A"): "_x2 1x198", _router("B"): "_x14 1x186"},
        40,
    ),
    "one that fires anew": ({**_EVENT, _router("B"): "1x2 stale _x12 1x180"}, 50),
    "one that is pending": ({**_EVENT, _router("B").replace("firing", "pending"): "_x10 1x190"}, None),
    "one of the monitor itself": (
        {**_EVENT, _router("B").replace("RouterDown", "MonitorBlind"): "_x10 1x190"},
        None,
    ),
    "one long after the end": ({**_EVENT, _router("B"): "_x40 1x160"}, None),
    "one soon after the end": ({**_EVENT, _router("B"): "_x30 1x170"}, 120),
    "an event that goes on": ({_BEGUN: "_x9 30x191", _router("B"): "_x60 1x140"}, 270),
}


def test_the_first_alert_of_an_event(tmp_path: Path) -> None:
    """What the panel asks for at the end of each story; nothing where no alert told of the event."""
    if shutil.which("promtool") is None:
        missing("promtool")
    expression = overview.EVENT_ALERTED.replace("$__range", "30m")
    tests: list[dict[str, Any]] = []
    for name, (series, seconds) in STORIES.items():
        samples = [] if seconds is None else [{"labels": f"{{{_E}}}", "value": seconds}]
        tests.append(
            {
                "name": name,
                "interval": "5s",
                "input_series": [{"series": each, "values": values} for each, values in series.items()],
                "promql_expr_test": [{"expr": expression, "eval_time": "15m", "exp_samples": samples}],
            }
        )
    groups = yaml.safe_load((FOLDER / "recording.rules.yml").read_text())["groups"]
    (tmp_path / "rules.yml").write_text(
        yaml.safe_dump({"groups": [group for group in groups if group["name"] == "inflight-events"]})
    )
    file = tmp_path / "stories.yml"
    file.write_text(
        yaml.safe_dump({"rule_files": ["rules.yml"], "evaluation_interval": "5s", "tests": tests})
    )
    done = subprocess.run(
        ["promtool", "test", "rules", str(file)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
