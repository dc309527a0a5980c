"""The studies in deploy/examples/experiments: one run of each small form, its table, and what it adds up to.

Routers are stand-ins, brokers real Artemis; stomp-scaling needs stomp.py. None needs PostgreSQL.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from deploy.experiment.document import merged

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

STUDIES = Path(__file__).parents[3] / "deploy" / "examples" / "experiments"
BOUND_SECONDS = 600
CLASSES = ("received", "refused", "lost", "unobserved")
Json = dict[str, Any]

# Of each study the levels that are run here: one combination, as whole small forms take minutes together.
LEVELS: dict[str, Json] = {
    "router-throughput": {"network": "line"},
    "router-latency": {"network": "router-equal"},
    "router-restart": {"away": "2s"},
    "router-redundant": {"away": "2s"},
    "mix-2h": {},
    "mix-2k": {"load.clients": 4, "brokers": "2"},
    "load-ramp-store": {},
    "load-ramp-broker": {},
    "federation-latency": {"load.size": "10kB", "network": "alike"},
    "federation-bandwidth": {"load.loads.way.size": "10kB", "how": "acknowledged", "network": "different"},
    "stomp-scaling": {"case": "slow"},
    "handoff-jitter": {"load.size": "512B", "load.rate": "100/s", "hand-off": "held"},
    "saturation": {"load.size": "6kB"},
}
# What is less here, on top of the small form.
LESS: dict[str, Json] = {
    "router-latency": {"load": {"count": 500}},
    "mix-2h": {"phases": {"steady": "5s"}},
    "router-restart": {"load": {"count": 1_600}},
    "router-redundant": {"load": {"count": 1_600}},
}


def small(study: str) -> Json:
    """Return the study's small form with one level of each factor, on stand-ins."""
    whole = yaml.safe_load((STUDIES / f"{study}.yaml").read_text())
    plan = merged(merged(whole, whole.pop("forms")["small"]), LESS.get(study, {}))
    for factor, level in LEVELS[study].items():
        levels = plan["factors"][factor]
        plan["factors"][factor] = {level: levels[level]} if isinstance(levels, dict) else [level]
    assert plan.get("factors", {}).keys() == LEVELS[study].keys()
    plan["network"]["stand-ins"] = True
    return plan


def run_of(study: str, folder: Path) -> tuple[Json, Path]:
    """Run it as people do; return the summary of its run, and the run's folder."""
    file, results = folder / "plan.yaml", folder / "results"
    file.write_text(yaml.safe_dump(small(study), sort_keys=False))
    argv = [sys.executable, "-m", "deploy", "experiment", "run", str(file), "--out", str(results)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=BOUND_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (summary,) = json.loads((results / "summary.json").read_text())["runs"]
    assert summary["levels"] == LEVELS[study]
    return summary, results / "runs" / "0001"


def check_accounting(summary: Json, run: Path) -> None:
    """Every message has one class; paths add up to `all`; both are what pandas counts in the windows."""
    windows = pd.read_parquet(run / "windows.parquet")
    steps = [(step["from_ns"], step["to_ns"]) for step in summary["steps"]]
    spans = steps if "ramp" in summary and steps else []
    spans = spans or [(summary["steady_from_ns"], summary["steady_to_ns"])]
    ends = windows.window_start_ns + windows.window_ns
    within = [(windows.window_start_ns >= begin) & (ends <= end) for begin, end in spans]
    steady = windows[pd.concat(within, axis=1).any(axis=1)]
    paths = {name: of for name, of in summary["figures"].items() if name != "all"}
    assert paths.keys() == set(windows.path)
    for name, of in paths.items():
        assert of["sent"] == sum(of[each] for each in CLASSES), name
        rows = steady[steady.path == name]
        assert {each: of[each] for each in ("sent", *CLASSES)} == {
            each: int(rows[each].sum()) for each in ("sent", *CLASSES)
        }
    for each in ("sent", "unsent", *CLASSES):
        assert summary["figures"]["all"][each] == sum(of[each] for of in paths.values())
    assert summary["figures"]["all"]["received"] > 0
    assert summary["stopped"] is None
    assert all(action["problem"] is None for action in summary["actions"])
    assert all(part["resident_bytes_max"] > 0 for part in summary["memory"].values())


def of_throughput(summary: Json) -> None:
    """No rate was asked for."""
    assert summary["figures"]["all"]["asked_per_second"] is None
    assert summary["figures"].keys() == {"all", *(f"pair-{n}" for n in range(1, 6))}
    assert summary["memory"].keys() == {"A", "B", "C"}


def of_latency(summary: Json) -> None:
    """By count: each client has sent all of its messages."""
    figures = summary["figures"]["all"]
    assert figures["p50_ns"] <= figures["p90_ns"] <= figures["p99_ns"] <= figures["max_ns"]


def of_restart(summary: Json) -> None:
    """The router was away for two seconds, and all that was sent is accounted for."""
    (action,) = summary["actions"]
    assert (action["name"], action["what"]) == ("stop", "B")
    assert action["ended_ns"] - action["began_ns"] >= 2_000_000_000
    figures = summary["figures"]["all"]
    assert figures["sent"] + figures["unsent"] == 5 * 1_600
    assert figures["lost"] + figures["unsent"] > 0 or figures["max_ns"] > 1_000_000_000


def of_mix(summary: Json) -> None:
    assert summary["figures"].keys() == {"all", "ring", "pairs/0", "pairs/1", "public/0", "public/1"}
    assert all(of["received"] > 0 for of in summary["figures"].values())


def of_factorial(summary: Json) -> None:
    assert summary["figures"].keys() == {"all", "relay"}
    assert {"b1", "b2"} <= summary["memory"].keys()


def of_ramp(*values: object) -> Callable[[Json], None]:
    def check(summary: Json) -> None:
        assert [step["value"] for step in summary["steps"]] == list(values)
        for step in summary["steps"]:
            assert 0 <= step["in_time"] <= step["figures"]["all"]["sent"]
        assert summary["ramp"]["says"].startswith("most, ")

    return check


def of_saturation(summary: Json) -> None:
    """A link of 2,500,000 bytes/s has no room for 600 messages of 6 kB in a second; it has for 150."""
    of_ramp("150/s", "300/s", "450/s", "600/s", "750/s")(summary)
    least = summary["steps"][0]
    assert least["figures"]["all"]["lost"] == 0
    assert summary["ramp"]["breaks_at"] is not None


def of_round_trips(summary: Json) -> None:
    """One at a time: as many a second as their mean says, and no more."""
    figures = summary["figures"]["ping-pong"]
    assert figures["rate_per_second"] <= 1.1e9 / figures["mean_ns"]


def of_bandwidth(summary: Json) -> None:
    assert summary["figures"]["way"]["asked_per_second"] is None


def of_stomp(summary: Json) -> None:
    """Each subscriber gets the topic's messages: the one reads as they come, the other 50 a second."""
    quick, slow = (summary["figures"][f"news/{n}"] for n in range(2))
    assert quick["sent"] == slow["sent"] > 0
    assert slow["mean_ns"] > quick["mean_ns"]


def of_handoff(summary: Json) -> None:
    """Held for 1 s and for 3 s: no message comes meanwhile, so the largest jitter is no less than that."""
    told = summary["jitter"]["moving"]
    assert told["period_ns"] == 10_000_000
    first, second = (peak["jitter_ns"] for peak in told["peaks"])
    assert first > 950_000_000
    assert second > 2_950_000_000
    assert told["distribution"]["max_ns"] == max(first, second)


CHECKS: dict[str, Callable[[Json], None]] = {
    "router-throughput": of_throughput,
    "router-latency": of_latency,
    "router-restart": of_restart,
    "router-redundant": of_restart,
    "mix-2h": of_mix,
    "mix-2k": of_factorial,
    "load-ramp-store": of_ramp(8, 16, 24),
    "load-ramp-broker": of_ramp(2, 6, 10),
    "federation-latency": of_round_trips,
    "federation-bandwidth": of_bandwidth,
    "stomp-scaling": of_stomp,
    "handoff-jitter": of_handoff,
    "saturation": of_saturation,
}


@pytest.mark.parametrize("study", CHECKS)
def test_a_study_has_its_table(study: str, tmp_path: Path) -> None:
    """And its counts add up, whatever this machine is able to do."""
    if study == "stomp-scaling" and importlib.util.find_spec("stomp") is None:
        pytest.skip("optional: stomp.py is of an extra")
    summary, run = run_of(study, tmp_path)
    check_accounting(summary, run)
    CHECKS[study](summary)
