"""Everything real, broken again and again, then an audit of every message: `make soak MINUTES=15`.

Senders and receivers are processes of their own; after the last fault they end cleanly, and the records are
held against final rows and counters. Exit status 1 where anything does not agree.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[2]))

import _audit
import yaml
from _faults import FAULTS, Fault
from kafka import KafkaConsumer, TopicPartition
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console
from rich.table import Table

from deploy.demo.config import write_config
from deploy.demo.stories import topology
from deploy.embedded import http
from deploy.embedded.supervise import orphans
from deploy.embedded.supervise.ports import LOOPBACK, free_port
from deploy.embedded.supervise.process import Process, ProcessSpec
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.lab.lab import KAFKA, PREFIX, Lab

_ROLES: Final = {"send": ("probe", "--send"), "receive": ("probe", "--receive")}
_PARTS: Final = ("export", "collect", "stream", "receive", "send")
_CALM_SECONDS: Final = 20.0  # between two faults
_FINAL_SECONDS: Final = 240.0
_READY_SECONDS: Final = 150.0
# A fault is felt a little before it (what was on its way) and after it (until all are attached again).
_BEFORE_NS: Final = 2 * _audit.SECOND_NS
_AFTER_NS: Final = 15 * _audit.SECOND_NS


class Soaked:
    """The demonstration's network, and Inflight's parts over it."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._listen = {name: f"{LOOPBACK}:{free_port()}" for name in _PARTS}
        self.lab = Lab(supervisor, topology(), kafka=True)
        self.prefix = PREFIX
        self.settle_ns = 0
        self._config = Path()

    @property
    def bootstrap(self) -> str:
        return self.lab.kafka.bootstrap

    def begin(self) -> None:
        self.lab.start(KAFKA)
        folder = self._supervisor.directory("soak", fresh=True)
        self._config = write_config(self.lab, folder, self._listen["export"])
        config = yaml.safe_load(self._config.read_text())
        config["defaults"]["settle"] = "8s"  # the messages' TTL: what arrives at all has arrived by then
        self.settle_ns = 8 * _audit.SECOND_NS
        self._config.write_text(yaml.safe_dump(config))
        self.lab.start()
        self.lab.wait_connected()
        for name in _PARTS:
            self.start(name)

    def process(self, name: str) -> Process:
        return next(found for found in self._supervisor.processes if found.spec.name == name)

    def processes(self, name: str) -> list[int]:
        """Return the pids of a part and of all that it has started."""
        pid = self.process(name).pid
        return [each for each in orphans.marked(f"{self._supervisor.state_dir}//") if _session(each) == pid]

    def kill(self, name: str) -> None:
        self.process(name).kill()

    def start(self, name: str) -> None:
        """Start a part, for the first time or again."""
        if name in self.lab.parts:
            self.lab.start(name)
            self.lab.wait_connected()
        else:
            self._supervisor.start(self._spec(name))

    def end(self, name: str) -> None:
        self.process(name).stop(30)

    def url(self, name: str) -> str:
        return f"http://{self._listen[name]}"

    def _spec(self, name: str) -> ProcessSpec:
        words = _ROLES.get(name, (name,))
        argv = [
            sys.executable,
            "-m",
            "deploy",
            *words,
            "-c",
            str(self._config),
            "--listen",
            self._listen[name],
        ]
        # Any answer will do: readiness is not what a soak looks at.
        return ProcessSpec(name, argv, lambda: bool(http.get(f"{self.url(name)}/-/healthy")), _READY_SECONDS)


def _session(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[3])
    except OSError:
        return 0


def _values(bootstrap: str, topic: str) -> Iterator[bytes]:
    """Yield all values that are in the topic now, each partition in its order."""
    consumer: Any = KafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, group_id=None)
    try:
        parts = [TopicPartition(topic, n) for n in sorted(consumer.partitions_for_topic(topic) or ())]
        ends = consumer.end_offsets(parts)
        consumer.assign(parts)
        consumer.seek_to_beginning(*parts)
        while any(consumer.position(part) < ends[part] for part in parts):
            for batch in consumer.poll(timeout_ms=500).values():
                yield from (message.value or b"" for message in batch)
    finally:
        consumer.close()


def _rows(soaked: Soaked) -> dict[str, dict[int, dict[str, Any]]]:
    rows = []
    for value in _values(soaked.bootstrap, f"{soaked.prefix}.windows"):
        try:
            row = json.loads(value)
            row["path"], row["classes"]
        except (ValueError, TypeError, KeyError):
            continue
        rows.append(value)
    return _audit.newest_rows(rows)


def _counters(soaked: Soaked) -> dict[str, dict[str, int]]:
    """Return by path the messages by class, corrected by reclassifications, and the number of those."""
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for family in text_string_to_metric_families(http.get(f"{soaked.url('export')}/metrics")):
        for sample in family.samples:
            labels, value = sample.labels, round(sample.value)
            if sample.name == "inflight_path_messages_total":
                found[labels["path"]][labels["class"]] += value
            elif sample.name == "inflight_path_reclassified_messages_total":
                found[labels["path"]][labels["to"]] += value
                found[labels["path"]][labels["from"]] -= value
                found[labels["path"]]["moved"] += value
    return found


def _break(soaked: Soaked, fault: Fault, say: Callable[[str], None]) -> tuple[int, int]:
    began_ns = time.time_ns()
    say(f"{fault.name} …")
    fault.act(soaked)
    ended_ns = time.time_ns()
    say(f"{fault.name}: over after {(ended_ns - began_ns) / 1e9:.1f} s")
    return began_ns - _BEFORE_NS, ended_ns + _AFTER_NS


def _disturb(soaked: Soaked, minutes: float, say: Callable[[str], None]) -> dict[str, list[tuple[int, int]]]:
    """Do one fault after the other until the time is over; return their spans by what they were done to."""
    spans: dict[str, list[tuple[int, int]]] = {"network": [], "receivers": [], "ours": []}
    until = time.monotonic() + minutes * 60
    time.sleep(_CALM_SECONDS)
    while True:
        for fault in FAULTS:
            if time.monotonic() > until:
                return spans
            spans[fault.whose].append(_break(soaked, fault, say))
            time.sleep(_CALM_SECONDS)


def _judge(soaked: Soaked, spans: dict[str, list[tuple[int, int]]]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a line for each path, and what does not agree; wait while rows are missing."""
    records, junk = _audit.read_samples(_values(soaked.bootstrap, f"{soaked.prefix}.samples"))
    # What the network loses while nobody may have watched is rightly either of the two.
    disturbed = _audit.Disturbed(spans["network"], spans["receivers"] + spans["network"])
    until = time.monotonic() + _FINAL_SECONDS
    while True:
        lines, wrong = [], []
        rows, counters = _rows(soaked), _counters(soaked)
        for path, known in sorted(records.items()):
            sums = _audit.totals(rows.get(path, {}).values())
            wrong += _audit.faults_of(path, known, rows.get(path, {}), disturbed, soaked.settle_ns)
            wrong += _audit.counters_differ(path, sums, counters[path])
            by_records = len(known.sent()), len(known.received)
            moved = counters[path]["moved"]
            lines.append(
                {"path": path, "records": known.records, "by_records": by_records, **sums, "moved": moved}
            )
        if not wrong or time.monotonic() > until:
            return [*lines, {"junk": junk}], wrong
        time.sleep(5)


def _show(lines: list[dict[str, Any]], wrong: list[str]) -> None:
    table = Table(box=None)
    columns = ("path", "sent by records", "received by records", "sent", *_audit.CLASSES, "reclassified")
    for column in columns:
        table.add_column(column, justify="left" if column == "path" else "right")
    for line in lines[:-1]:
        numbers = (*line["by_records"], *(line[name] for name in ("sent", *_audit.CLASSES)), line["moved"])
        table.add_row(line["path"], *(f"{number:,}" for number in numbers))
    console = Console(width=140)
    console.print(table)
    console.print(f"{lines[-1]['junk']} values of the samples' topic were no records", highlight=False)
    for text in wrong[:40]:
        console.print(text, highlight=False, markup=False)
    console.print(f"{len(wrong)} statements do not agree" if wrong else "all agree", highlight=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=15.0, help="how long to break things")
    parser.add_argument("--folder", type=Path, help="where to run, and leave the logs")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="inflight-soak-"))
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {text}", file=sys.stderr, flush=True)  # noqa: T201

    say(f"logs in {folder}")
    with Supervisor(folder) as supervisor:
        soaked = Soaked(supervisor)
        soaked.begin()
        say("everything is up")
        spans = _disturb(soaked, options.minutes, say)
        soaked.end("send")
        time.sleep(soaked.settle_ns / 1e9 + 2)
        soaked.end("receive")
        say("the ends have ended; waiting for the last rows")
        try:
            lines, wrong = _judge(soaked, spans)
        except (Problem, OSError) as error:
            say(f"the audit could not be made: {error}")
            return 2
    result = {"minutes": options.minutes, "paths": lines, "wrong": wrong}
    (folder / "soak.json").write_text(json.dumps(result, indent=1))
    _show(lines, wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
