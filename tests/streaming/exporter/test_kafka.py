"""`inflight export` against a real Kafka: the counters are exact whatever is stopped, killed or repeated."""

from __future__ import annotations

import json
import re
import resource
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import bombs
import pytest
from attribution_rows import episode, hop
from helpers import free_port, wait_until
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient
from made_rows import START, live, window

from collectors.contract import attribution_rows, topics
from collectors.contract.events import Event
from collectors.contract.events import encode as encode_event
from collectors.contract.telemetry import Telemetry
from collectors.contract.window_rows import LiveRow, WindowRow, encode

if TYPE_CHECKING:
    from deploy.embedded.programs.kafka import Kafka

pytestmark = pytest.mark.e2e

CONFIG = """\
version: 1
site: here
kafka: {{servers: ["{bootstrap}"], prefix: {prefix}}}
endpoints: {{east: {{url: "amqp://e:5672", mesh: prod}}, west: {{url: "amqp://w:5672", mesh: prod}}}}
paths: {{east-west: {{from: east, to: west, address: inflight/east-west}}}}
slos:
  - {{paths: "*", delivered: 99.9%}}
state: {state}
"""


class Export:
    """The command as a process of its own, restartable on the same state."""

    def __init__(self, bootstrap: str, prefix: str, folder: Path) -> None:
        self.port = free_port()
        self.state = folder / "state"
        self.config = folder / "inflight.yaml"
        self.config.write_text(CONFIG.format(bootstrap=bootstrap, prefix=prefix, state=self.state))
        self.log = folder / "log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        arguments = ["export", "-c", str(self.config), "--listen", f"127.0.0.1:{self.port}"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([sys.executable, "-m", "deploy", *arguments], stderr=log)

    def ready(self) -> None:
        wait_until(lambda: self.get("/-/ready") == "ready\n", 30, "the exporter to be ready")

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            text: str = answer.read().decode()
        return text

    def value(self, name: str, **labels: str) -> float | None:
        """Of the one series with these labels among others; None where there is none."""
        for line in self.get("/metrics").splitlines():
            if line.startswith(f"inflight_{name}{{") and all(f'{k}="{v}"' in line for k, v in labels.items()):
                return float(line.rsplit(" ", 1)[1])
        return None

    def resident_mib(self) -> int:
        assert self.process is not None
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return (pages * resource.getpagesize()) >> 20

    def peak_bytes(self) -> int:
        """The most memory that it has had."""
        assert self.process is not None
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024

    def end(self, number: int = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        code = self.process.wait(15)
        self.process = None
        return code


@pytest.fixture
def export(kafka: Kafka, tmp_path: Path, prefix: str) -> Iterator[Export]:
    exporter = Export(kafka.bootstrap, prefix, tmp_path)
    yield exporter
    if exporter.process is not None:
        exporter.end(signal.SIGKILL)


@pytest.fixture
def prefix(kafka: Kafka, request: pytest.FixtureRequest) -> str:
    made = re.sub("[^a-z]", "-", request.node.name)
    kafka.make_topics(made, (topics.WINDOWS, topics.LIVE, topics.EVENTS))
    return made


@pytest.fixture
def put(kafka: Kafka, prefix: str) -> Iterator[Callable[..., None]]:
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap)

    def send(suffix: str, *values: WindowRow | LiveRow | bytes) -> None:
        for value in values:
            data = value if isinstance(value, bytes) else encode(value)
            key = b"-" if isinstance(value, bytes) else value["path"].encode()
            producer.send(f"{prefix}.{suffix}", key=key, value=data)
        producer.flush(10)

    yield send
    producer.close()


def test_counts_rows_once_over_kill_restart_and_repeats(export: Export, put: Callable[..., None]) -> None:
    """Killed or ended, restarted, and fed every row twice, it counts each window once."""
    export.start()
    export.ready()
    rows = [window(number=n, lost=n % 2) for n in range(6)]
    put("windows", *rows[:2])
    wait_until(lambda: export.value("path_sent_messages_total") == 101, 10, "two windows")
    export.end(signal.SIGKILL)
    put("windows", *rows)  # a restarted job may write again what it wrote before
    export.start()
    export.ready()
    wait_until(lambda: export.value("path_sent_messages_total") == 303, 10, "six windows")
    assert export.value("path_messages_total", **{"class": "lost"}) == 3
    assert export.end() == 0
    moved = {"lost>received": 1}
    put("windows", window(number=1, revision=1, values_ns=[2_000_000] * 51, late=1, moves=moved))
    put("windows", window(number=6))
    export.start()
    export.ready()
    assert export.value("path_sent_messages_total") == 353
    assert export.value("path_messages_total", **{"class": "lost"}) == 3
    assert export.value("path_reclassified_messages_total", **{"from": "lost", "to": "received"}) == 1
    assert export.value("path_slo_good_messages_total", slo="delivery") == 350


def test_counts_what_hops_explain_once(
    kafka: Kafka, export: Export, put: Callable[..., None], prefix: str
) -> None:
    """Killed, restarted, and fed every row twice; a topic made later is counted from its beginning."""
    export.start()
    export.ready()
    kafka.make_topics(prefix, (topics.ATTRIBUTION,))
    rows = [
        episode(),
        episode(number=1, hops=[hop(said=40)]),
        episode(revision=1, hops=[hop(said=200)]),
    ]
    encoded = [attribution_rows.encode(row) for row in rows]
    put("attribution", *encoded[:2], b"{", attribution_rows.encode(rows[0] | {"lost": 7}))
    explained, revised = "path_explained_messages_total", "path_reexplained_messages_total"
    wait_until(lambda: export.value(explained, hop="C → receiver") == 251, 30, "two episodes")
    assert export.value("exporter_rows_total", topic="attribution", result="bad") == 2
    export.end(signal.SIGKILL)
    put("attribution", *encoded, *encoded)
    for _ in range(2):
        export.start()
        export.ready()
        wait_until(lambda: export.value(revised, direction="removed") == 11, 30, "the revision")
        assert export.value(explained, hop="C → receiver") == 251
        assert export.value("path_unexplained_messages_total", **{"class": "lost"}) == 6
        assert export.end() == 0


def test_without_state_starts_at_the_end_from_0(export: Export, put: Callable[..., None]) -> None:
    """What was in the topic before the first start is not counted, and neither are its later revisions."""
    put("windows", *(window(number=n) for n in range(3)))
    export.start()
    export.ready()
    assert export.value("path_sent_messages_total") == 0
    put(
        "windows",
        window(number=1, revision=1, lost=1, values_ns=[2_000_000] * 49, moves={"lost>received": 1}),
    )
    put("windows", window(number=3, lost=2))
    wait_until(lambda: export.value("path_sent_messages_total") == 52, 10, "the first window")
    assert export.value("path_reclassified_messages_total", **{"from": "lost", "to": "received"}) == 0
    assert export.value("exporter_rows_total", topic="windows", result="old") == 1


def test_bad_rows_are_counted_and_lose_nothing_else(export: Export, put: Callable[..., None]) -> None:
    """Rows that cannot be read are counted and told; the good ones around them count."""
    export.start()
    export.ready()
    half = window(number=0)
    half["classes"] = {"received": "many"}  # type: ignore[dict-item] # what this test is about
    put("windows", b"{", b"[]", b"\xff", encode(half), b'{"v":9}', window(number=0))
    put("live", b"nothing", live(number=0))
    wait_until(lambda: export.value("path_sent_messages_total") == 50, 10, "the good window")
    wait_until(lambda: export.value("path_pending_messages") == 130, 10, "the good live row")
    assert export.value("exporter_rows_total", topic="windows", result="bad") == 5
    assert export.value("exporter_rows_total", topic="live", result="bad") == 1
    assert "bad row at" in export.log.read_text()


def test_one_record_of_a_collector_breaks_nothing(
    kafka: Kafka, export: Export, put: Callable[..., None], prefix: str
) -> None:
    """A number of 400 digits on the topics of collectors: page and `top` go on, also after a restart."""
    kafka.make_topics(prefix, (topics.ROUTER, topics.BROKER))
    good = Telemetry("s", "m", "A", "queue", time.time_ns(), 10**9, 1, [{"queue": "q", "messages": 3}])
    bad = replace(good, target="B", at_ns=10**400).encode()
    put("router", bad)
    put("broker", bad, good.encode())
    for _ in range(2):
        export.start()
        export.ready()
        wait_until(lambda: json.loads(export.get("/api/state"))["queues"], 20, "the queue")
        assert [queue["broker"] for queue in json.loads(export.get("/api/state"))["queues"]] == ["A"]
        assert export.value("exporter_rows_total", topic="router", result="bad") == 1
        top = [sys.executable, "-m", "deploy", "top", "--once", f"http://127.0.0.1:{export.port}"]
        assert subprocess.run(top, capture_output=True, check=False, timeout=60).returncode == 0
        assert export.end() == 0


def test_its_memory_is_not_that_of_its_topics(
    kafka: Kafka, export: Export, put: Callable[..., None], prefix: str, record_property: Callable[..., None]
) -> None:
    """A hundred rows with names of 0.9 MB and 400 parts of one poll leave /metrics as large as it was."""
    kafka.make_topics(prefix, (topics.ROUTER,))
    export.start()
    export.ready()
    put("windows", window(number=0))
    wait_until(lambda: export.value("path_sent_messages_total") == 50, 10, "the window")
    small, before_mib = len(export.get("/metrics")), export.resident_mib()
    for number in range(100):
        put("windows", window(f"guest {number}", mesh="x" * 900_000))
    link = {"peer": "B" * 200, "direction": "out", "type": "inter-router", "deliveries_added": 1}
    part = Telemetry("s", "m", "A", "link", time.time_ns(), 10**9, 1, [link] * 500, part=2, parts=2)
    put("router", *[part.encode()] * 400)
    wait_until(
        lambda: export.value("exporter_rows_total", topic="router", result="used") == 400, 60, "the parts"
    )
    wait_until(
        lambda: export.value("exporter_rows_total", topic="windows", result="bad") == 100, 60, "the rows"
    )
    assert export.value("path_sent_messages_total") == 50
    assert len(export.get("/metrics")) < 2 * small
    record_property("resident_mib", [before_mib, export.resident_mib()])


def test_what_unpacks_to_a_gigabyte_is_passed_over(
    export: Export, put: Callable[..., None], kafka: Kafka, prefix: str
) -> None:
    """On any topic, packed in any way, of one record or many: told, counted, and no weight on Kafka either.

    Also when it is there at the start, where Kafka would unpack it if it was asked for the records of a time.
    """
    kafka.make_topics(prefix, (topics.ROUTER, topics.BROKER))
    export.start()
    export.ready()
    packed = [bombs.batch(bombs.ZSTD, [900 << 20]), bombs.batch(bombs.GZIP, [1 << 20] * 500)]
    packed += [bombs.batch(bombs.LZ4, [200 << 20]), *[bombs.batch(bombs.ZSTD, [3 << 20])] * 40]
    suffixes = ("router", "broker", "live", "events", "windows")
    for suffix in suffixes:
        for batch in packed:
            assert bombs.produce(kafka.bootstrap, f"{prefix}.{suffix}", 0, batch) == 0
    put("windows", window(number=0))
    wait_until(lambda: export.value("path_sent_messages_total") == 50, 60, "the good window")
    for suffix in suffixes:
        wait_until(
            lambda topic=suffix: (
                export.value("exporter_rows_total", topic=topic, result="bad") == len(packed)
            ),
            60,
            f"all that is bad on {suffix}",
        )
    assert "unpacks to more than" in export.log.read_text()
    assert export.peak_bytes() < 400 << 20
    assert export.end() == 0
    export.start()
    export.ready()
    assert export.value("path_sent_messages_total") == 50
    assert export.value("exporter_rows_total", topic="router", result="bad") == len(packed)
    assert kafka.alive


def test_of_what_was_there_before_only_what_is_new_counts(
    export: Export, kafka: Kafka, tmp_path: Path
) -> None:
    """Where the newest is all that counts, nothing older than two minutes is shown after a start."""
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    timed = {"message.timestamp.type": "CreateTime"}
    made = {"num_partitions": 1, "replication_factor": 1, "configs": timed}
    admin.create_topics({"timed.live": made, "timed.windows": made}, wait_for_metadata=True)
    admin.close()
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap)
    now_ms = time.time_ns() // 1_000_000
    for path, time_ms in (("old", now_ms - 180_000), ("east-west", now_ms - 1_000)):
        row = encode(live(path, number=0))
        producer.send("timed.live", key=path.encode(), value=row, timestamp_ms=time_ms).get(10)
    producer.close()
    export.config.write_text(
        CONFIG.format(bootstrap=kafka.bootstrap, prefix="timed", state=tmp_path / "state")
    )
    export.start()
    export.ready()
    assert export.value("path_pending_messages", path="east-west") == 130
    assert export.value("path_pending_messages", path="old") is None


def test_maintenance_is_left_out_of_objectives(export: Export, put: Callable[..., None]) -> None:
    """Windows inside a marked stretch count as messages, not for the objectives; known from before, too."""
    marked = Event(START, START + 4_000_000_000, "maintenance", ("east-*",), "new cable")
    put("events", encode_event(marked))
    export.start()
    export.ready()
    put("windows", window(number=0, lost=5), window(number=1))
    wait_until(lambda: export.value("path_sent_messages_total") == 105, 10, "both windows")
    assert export.value("path_slo_messages_total", slo="delivery") == 50


def test_serves_no_counters_before_it_has_caught_up(export: Export, tmp_path: Path) -> None:
    """With no Kafka it lives, is not ready, and shows no counter that would look like a restart."""
    export.config.write_text(
        CONFIG.format(bootstrap="127.0.0.1:1", prefix="nowhere", state=tmp_path / "state")
    )
    export.start()
    wait_until(lambda: export.get("/-/healthy"), 20, "the server")
    with pytest.raises(urllib.error.HTTPError, match="503"):
        export.get("/-/ready")
    assert export.value("build_info", part="exporter") == 1
    assert export.value("path_sent_messages_total") is None
    assert export.end() == 0


def test_newer_state_is_refused(export: Export) -> None:
    """A state of a newer version is not thrown away: the command says so and ends with status 2."""
    export.state.mkdir()
    (export.state / "exporter.json").write_text('{"v": 99}')
    export.start()
    assert export.process is not None
    assert export.process.wait(20) == 2
    export.process = None
    assert "use the newer program" in export.log.read_text()
    assert [file.name for file in export.state.iterdir()] == ["exporter.json"]


def test_a_topic_made_later_is_counted_from_its_beginning(
    kafka: Kafka, export: Export, tmp_path: Path
) -> None:
    """Rows that are there before the exporter sees the new topic are not of the past."""
    export.config.write_text(
        CONFIG.format(bootstrap=kafka.bootstrap, prefix="made-later", state=tmp_path / "state")
    )
    export.start()
    wait_until(lambda: "there is no topic made-later.windows yet" in _refusal(export), 20, "it to look")
    kafka.make_topics("made-later", (topics.WINDOWS,))
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap)
    producer.send("made-later.windows", key=b"east-west", value=encode(window(number=0)))
    producer.flush(10)
    producer.close()
    wait_until(lambda: export.value("path_sent_messages_total") == 50, 20, "the window")


def _refusal(export: Export) -> str:
    try:
        return export.get("/-/ready")
    except urllib.error.HTTPError as error:
        return error.read().decode()


def test_goes_on_when_kafka_comes_back(tmp_path: Path) -> None:
    """While Kafka is down what is known stays served; afterwards every window counts once."""
    from deploy.embedded.programs.kafka import Kafka  # noqa: PLC0415 -- as in conftest: most test runs do without it

    with Kafka.alone(tmp_path / "kafka") as own:
        own.make_topics("own", (topics.WINDOWS, topics.LIVE, topics.EVENTS))
        export = Export(own.bootstrap, "own", tmp_path)
        export.start()
        try:
            export.ready()
            _send(own.bootstrap, window(number=0))
            wait_until(lambda: export.value("path_sent_messages_total") == 50, 10, "the window")
            own.kill()
            assert export.value("path_sent_messages_total") == 50
            own.start()
            _send(own.bootstrap, window(number=0), window(number=1))
            wait_until(lambda: export.value("path_sent_messages_total") == 100, 30, "the second window")
            assert export.end() == 0
        finally:
            if export.process is not None:
                export.end(signal.SIGKILL)


def _send(bootstrap: str, *values: WindowRow) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for value in values:
        producer.send("own.windows", key=value["path"].encode(), value=encode(value))
    producer.flush(20)
    producer.close()
