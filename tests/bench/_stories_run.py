"""A fault played on a lab of its own, and everything that was said of it meanwhile, with what was true."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import _stories_truth as truth
import yaml
from _stories_faults import Fault

from collectors.process.worker import Worker
from deploy.actions.here import InProcess
from deploy.actions.player import play
from deploy.embedded import http
from deploy.embedded.supervise.ports import LOOPBACK, free_port
from deploy.embedded.supervise.process import ProcessSpec
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.lab.lab import KAFKA, Lab
from deploy.lab.relay.wiring import Relayed
from deploy.topology import load
from deploy.topology.mistakes import Source

_LOOK_SECONDS: Final = 0.5
_BEFORE_SECONDS: Final = 10.0  # of quiet, in which polls see how things are
_FINAL_SECONDS: Final = 150.0  # after the end of the fault, at the most
_SETTLED_SECONDS: Final = 20.0  # at the least: windows become final, and episodes close
_START_SECONDS: Final = 180.0
_AFTER_SECONDS: Final = 8.0  # in which a network finds its ways again
_READS: Final = 30
_READ_SECONDS: Final = 0.1
Row = dict[str, Any]
Counts = dict[str, int]


@dataclass
class Told:
    """What was said of a path: its rows as they are in the end, and when things were first said."""

    rows: dict[tuple[str, int], Row] = field(default_factory=dict)
    suspected_seconds: float | None = None  # the first live row that suspects some of being missing
    counted_seconds: float | None = None  # the first final window in which some are missing
    first_seconds: float | None = None
    exact_seconds: float | None = None
    final_seconds: float | None = None

    def see(self, path: Row, missing_before: int, now_seconds: float) -> None:
        """Take what the live page shows of the path: what is suspected, and what windows miss by now."""
        if self.suspected_seconds is None and path["suspect"]:
            self.suspected_seconds = now_seconds
        if self.counted_seconds is None and _missing(path) > missing_before:
            self.counted_seconds = now_seconds

    def take(self, rows: list[Row], span_ns: tuple[int, int], now_seconds: float) -> None:
        """Take what the exporter knows, so long after the fault began: losses since then, and what is slow.

        A busy machine is slow at any time; messages are missing for a reason.
        """
        from_ns, to_ns = span_ns
        self.rows = {
            (row["kind"], row["episode_ns"]): row
            for row in rows
            if row["to_ns"] > from_ns and (row["kind"] == "loss" or row["from_ns"] < to_ns)
        }
        there = self.standing()
        if self.first_seconds is None and any(row["hops"] for row in there):
            self.first_seconds = now_seconds
        if self.exact_seconds is None and any(hop["exact"] for row in there for hop in row["hops"][:1]):
            self.exact_seconds = now_seconds
        is_final = bool(there) and all(row["final"] and not row["open"] for row in there)
        self.final_seconds = (self.final_seconds or now_seconds) if is_final else None

    def sums(self) -> Counts:
        """Return how many are missing by all rows together."""
        return {of: sum(row[of] for row in self.standing()) for of in ("lost", "refused")}

    def standing(self) -> list[Row]:
        """Return the rows that are no part of another one, those of which most is missing first."""
        found = [row for row in self.rows.values() if row["merged_into"] is None]
        return sorted(found, key=lambda row: (row["kind"] == "slow", -row["lost"] - row["refused"]))


@dataclass(frozen=True)
class Played:
    """All of one fault: of each path what was told, and what its ends and the counters say."""

    told: Mapping[str, Told]
    ends: Mapping[str, Counts]
    counted: Counts  # of the path `told`


def play_fault(
    fault: Fault, folder: Path, *, program: str | None, kafka: bool, poll: str, quiet_seconds: float
) -> Played:
    """Play it; `program` is that of real routers. What is not broken is watched for `quiet_seconds`."""
    document = fault.topology() | ({"program": program} if program else {})
    topology = load.made(document, Source("stories")).topology
    with Supervisor(folder) as supervisor:
        lab = Lab(supervisor, topology, wiring=Relayed(supervisor), stand_ins=program is None, kafka=kafka)
        if kafka:
            lab.start(KAFKA)
        lab.start()
        lab.wait_connected()
        shown, probe = _start_inflight(supervisor, lab, fault, folder, kafka=kafka, poll=poll)
        return _play(fault, lab, shown, probe, quiet_seconds)


def _start_inflight(
    supervisor: Supervisor, lab: Lab, fault: Fault, folder: Path, *, kafka: bool, poll: str
) -> tuple[str, str]:
    """Start Inflight, in one process or with Kafka and Spark; return the URLs of exporter and probe."""
    names = ("stream", "collect", "export", "probe") if kafka else ("run",)
    listen = {name: f"{LOOPBACK}:{free_port()}" for name in names}
    config = lab.config()
    for polled in [*config["meshes"].values(), *config.get("brokers", {}).values()]:
        polled["interval"] = poll
    config["defaults"] = {"window": "2s", "settle": "4s", "ttl": "8s"}
    config["export"] = {"listen": listen["export" if kafka else "run"]}
    config["state"] = str(folder / "state")
    if fault.slo is not None:
        config["slos"] = [{"paths": "told", "latency": fault.slo, "share": "99%"}]
    file = folder / "inflight.yaml"
    file.write_text(yaml.safe_dump(config, sort_keys=False))
    urls = {name: f"http://{listen[name]}" for name in names}
    for name, url in urls.items():
        argv = [sys.executable, "-m", "deploy", name, "-c", str(file), "--listen", listen[name]]
        ready = partial(_is_ready, url)
        supervisor.start(ProcessSpec(name, argv, ready, timeout_seconds=_START_SECONDS))
    return (urls["export"], urls["probe"]) if kafka else (urls["run"], urls["run"])


def _is_ready(url: str) -> bool:
    return bool(http.get(f"{url}/-/ready"))


def _play(fault: Fault, lab: Lab, shown: str, probe: str, quiet_seconds: float) -> Played:
    _wait_for_windows(fault, shown)
    time.sleep(_BEFORE_SECONDS)
    before, ends_before = _counted(fault, lab), _ends(fault, probe)
    missing_before = {name: _missing(path) for name, path in _shown(shown).items()}
    told = {path: Told() for path in fault.paths}
    began, began_ns = time.monotonic(), time.time_ns()
    playing = Worker("fault", partial(_break, lab), again=False)
    playing.start()
    over_seconds = fault.lasts_seconds or quiet_seconds
    span_ns = began_ns, began_ns + round((over_seconds + _AFTER_SECONDS) * 1e9)
    while True:
        time.sleep(_LOOK_SECONDS)
        now = time.monotonic() - began
        state = _shown(shown)
        for path, one in told.items():
            if path in state:
                one.see(state[path], missing_before.get(path, 0), now)
            one.take(_rows(shown, path), span_ns, now)
        final = all(one.final_seconds is not None or not one.rows for one in told.values())
        is_told = bool(told["told"].rows) or not fault.do
        settled = final and is_told and now > over_seconds + _SETTLED_SECONDS
        late = now > over_seconds + _FINAL_SECONDS
        if not playing.ended.is_set() or not (settled or late):
            continue
        ends = {path: _less(counts, ends_before[path]) for path, counts in _ends(fault, probe).items()}
        # What was lost last may be in windows that are not final yet.
        if late or all(one.sums().items() <= ends[path].items() for path, one in told.items()):
            break
    if playing.problem is not None:
        raise RuntimeError(f"{fault.says}: {playing.problem}")
    return Played(told, ends, _less(_counted(fault, lab), before))


def _less(after: Counts, before: Counts) -> Counts:
    return {name: count - before.get(name, 0) for name, count in after.items()}


def _break(lab: Lab) -> None:
    actions = lab.plan.topology.stories.get("fault", ())
    done = play(actions, InProcess(lab), lambda _event: None, threading.Event(), _say)
    if problems := [one.problem for one in done if one.problem]:
        raise RuntimeError("; ".join(problems))


def _rows(url: str, path: str) -> list[Row]:
    try:
        found = json.loads(http.get(f"{url}/api/why?path={quote(path, safe='')}"))
    except (OSError, ValueError):  # not known yet, or busy
        return []
    return list(found.get("rows", []))


def _shown(url: str) -> dict[str, Row]:
    """Return what the live page shows of each path."""
    try:
        return {path["name"]: path for path in json.loads(http.get(f"{url}/api/state"))["paths"]}
    except (OSError, ValueError):  # busy
        return {}


def _missing(path: Row) -> int:
    return int(path["classes"]["lost"]) + int(path["classes"]["refused"])


def _wait_for_windows(fault: Fault, url: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    for path in fault.paths:
        while not _has_window(url, path):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{fault.says}: no window of {path} within {_START_SECONDS:g} s")
            time.sleep(_LOOK_SECONDS)


def _has_window(url: str, path: str) -> bool:
    try:
        found = json.loads(http.get(f"{url}/api/why?path={quote(path, safe='')}"))
    except (OSError, ValueError):
        return False
    return bool((found.get("window") or {}).get("classes", {}).get("received"))


def _counted(fault: Fault, lab: Lab) -> Counts:
    """Return what all routers' links and the queue of `told` count; a router that is gone counts nothing."""
    address = fault.paths["told"]["address"]
    found: Counts = {}
    for router in lab.routers.values():
        for name, count in truth.of_links(truth.links(router.url, router.flavour.prefix), address).items():
            found[name] = found.get(name, 0) + count
    for broker in lab.brokers.values():
        found |= truth.queue(broker, address)
    return found


def _ends(fault: Fault, url: str) -> dict[str, Counts]:
    """Return sums of each path's ends, of many reads that in which no message was under way.

    A presettled one, or one that a broker takes, counts as sent before it counts as received; any other
    the other way round.
    """
    reads = []
    for _ in range(_READS):
        reads.append({path: truth.missing(counts) for path, counts in truth.ends(url).items()})
        time.sleep(_READ_SECONDS)
    found = {}
    for path, last in reads[-1].items():
        best = min if {"presettled", "via"} & fault.paths[path].keys() else max
        # One that was received though it was refused is no loss the less.
        found[path] = {**last, "lost": max(0, best(read[path]["lost"] for read in reads))}
    return found


def _say(text: str) -> None:
    sys.stderr.write(f"  {text}\n")
