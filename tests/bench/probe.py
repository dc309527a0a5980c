"""What a probe costs beside a raw loop, and how true its rates and latencies are.

The raw loop is proton's Python API as one would use it, with bytes encoded once. Both run in turns, through
the same Artemis, as fast as credit allows; of each pair of runs the better one counts, since the machine
has other things to do.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# What the tests made is used here, too; the project itself goes first.
sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent.parent))

import numpy as np
from measured import Measured
from standin_clients import StandIn

from deploy.embedded.programs.artemis import Artemis

_FLOW = Path(__file__).parent / "_flow.py"
_SECONDS = 3
_ROUNDS = 3
_RATES = (10, 100, 1_000, 5_000)
_DELAY_MS = 50
_LOW_MS, _WIDTH_MS = 20, 60
_STALL_SECONDS = 2
_HEAP_MIB = 1_024  # of the broker: a loop that does nothing else sends faster than it receives
_GIVE_UP_SECONDS = 120


def run() -> dict[str, float]:
    """All figures; latencies in ms."""
    with tempfile.TemporaryDirectory() as folder:
        found = _cost(Path(folder))
        router = StandIn(Path(folder), "bench")
        try:
            found |= _rates(router)
            found |= _latencies(router)
            found |= _stall(router)
            found |= _many(router)
        finally:
            router.stop()
    return {name: round(value, 4) for name, value in found.items()}


def _cost(folder: Path) -> dict[str, float]:
    found: dict[str, float] = {}
    with Artemis.alone(folder / "artemis", heap_mib=_HEAP_MIB) as artemis:
        for size, suffix in ((100, ""), (10_000, "_10k")):
            for settled, name in (("no", "acked"), ("yes", "presettled")):
                address = f"inflight.bench.{name}{suffix}"
                runs: dict[str, list[dict[str, float]]] = {"raw": [], "probe": []}
                for kind in ("raw", "probe") * _ROUNDS:
                    runs[kind].append(_flow(kind, artemis.port, address, size, settled))
                best = {kind: max(each["rate"] for each in several) for kind, several in runs.items()}
                found[f"{name}{suffix}_ratio"] = best["probe"] / best["raw"]
                cpu = {kind: min(each["cpu_us"] for each in several) for kind, several in runs.items()}
                found[f"{name}{suffix}_cpu_ratio"] = cpu["raw"] / cpu["probe"]
                for kind in runs:
                    found[f"{name}{suffix}_{kind}_per_second"] = best[kind]
                    found[f"{name}{suffix}_{kind}_cpu_us"] = cpu[kind]
    return found


def _flow(kind: str, port: int, address: str, size: int, settled: str) -> dict[str, float]:
    command = [sys.executable, str(_FLOW), kind, str(port), address, str(size), settled, str(_SECONDS)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=_GIVE_UP_SECONDS)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _measure(router: StandIn, address: str, settings: str) -> Measured:
    measured = Measured(
        f"""
endpoints: {{a: {{url: "amqp://127.0.0.1:{router.port}"}}}}
defaults: {{window: 1s, settle: 1s}}
paths: {{p: {{from: a, to: a, address: "{address}", {settings}}}}}
"""
    )
    measured.wait_finished(120)
    measured.finish()
    return measured


def _column(measured: Measured, of: str, since: str) -> Any:
    """Differences of two columns of all arrivals, in ms."""
    parts = [record.received for record in measured.records if record.received is not None]
    return np.concatenate([getattr(part, of) - getattr(part, since) for part in parts]) / 1e6


def _rates(router: StandIn) -> dict[str, float]:
    found: dict[str, float] = {}
    for rate in _RATES:
        settings = f"rate: {rate}/s, duration: 4s, presettled: true, credit: 2000"
        measured = _measure(router, f"closest/rate{rate}", settings)
        parts = [record.received for record in measured.records if record.received is not None]
        sent = np.sort(np.concatenate([part.sent_ns for part in parts]))
        lag = _column(measured, "sent_ns", "intended_ns")
        found[f"rate_{rate}_got_ratio"] = (len(sent) - 1) / ((sent[-1] - sent[0]) / 1e9) / rate
        found[f"rate_{rate}_lag_p50_ms"] = float(np.percentile(lag, 50))
        found[f"rate_{rate}_lag_p99_ms"] = float(np.percentile(lag, 99))
        found[f"rate_{rate}_lag_max_ms"] = float(lag.max())
    return found


def _latencies(router: StandIn) -> dict[str, float]:
    settings = "rate: 200/s, count: 1000"
    plain = _column(_measure(router, "closest/plain", settings), "received_ns", "sent_ns")
    router.tell(kind="delay", address="closest/fixed", ms=_DELAY_MS)
    fixed = _column(_measure(router, "closest/fixed", settings), "received_ns", "sent_ns")
    router.tell(
        kind="delay", address="closest/uniform", ms=_LOW_MS, jitter_ms=_WIDTH_MS, reorder=True, seed=1
    )
    uniform = _column(_measure(router, "closest/uniform", settings), "received_ns", "sent_ns")
    found = {"plain_p50_ms": float(np.percentile(plain, 50))}
    for share in (50, 90, 99):
        found[f"fixed_p{share}_error_ms"] = float(np.percentile(fixed, share)) - _DELAY_MS
        truth = _LOW_MS + _WIDTH_MS * share / 100
        found[f"uniform_p{share}_error_ms"] = float(np.percentile(uniform, share)) - truth
    return found


def _stall(router: StandIn) -> dict[str, float]:
    """100/s for 10 s, of which the router takes nothing for 2 s.

    The 200 messages due in the stall wait from 2 s down to nothing, evenly. Of 1,000 messages 10 are above
    the p99, so it is the wait of the eleventh longest: 1.9 s. Only what the credit of 5 let out before may
    wait inside the router: service latency shows nothing of it below p99.
    """
    address = "closest/stall"
    measured = Measured(
        f"""
endpoints: {{a: {{url: "amqp://127.0.0.1:{router.port}"}}}}
defaults: {{window: 1s, settle: 5s}}
paths: {{p: {{from: a, to: a, address: "{address}", rate: 100/s, count: 1000, credit: 5}}}}
""",
        linger_seconds=8,
    )
    measured.wait_sent(300)
    router.tell(kind="stall", address=address, seconds=_STALL_SECONDS)
    measured.wait_finished(60)
    measured.finish()
    response = np.sort(_column(measured, "received_ns", "intended_ns"))
    service = np.sort(_column(measured, "received_ns", "sent_ns"))
    return {
        "stall_response_max_ms": float(response[-1]),
        "stall_response_p99_ms": float(response[989]),
        "stall_response_p99_error_ms": float(response[989]) - 1_900,
        "stall_service_p90_ms": float(service[899]),
    }


def _many(router: StandIn) -> dict[str, float]:
    found = _flow("many", router.port, "closest/many", 256, "no")
    return {
        "many_paths_per_second": found["rate"],
        "many_paths_cpu_share": found["cpu_us"] * found["rate"] / 1e6,
        "many_paths_mib": found["mib"],
    }


if __name__ == "__main__":
    results = run()
    for name, value in results.items():
        print(f"{name:32} {value:,.6g}")  # noqa: T201 -- a benchmark's table
    target = Path(".inflight/bench/probe.json")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(results, indent=2) + "\n")
