"""`inflight report`: rows of an archive or of Kafka, events of a file or of Kafka, alerts of Prometheus."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner, Result
from helpers import free_port
from made_rows import LENGTH, SECOND, START, window

from collectors.config.model import Kafka as KafkaConfig
from collectors.contract import events, topics, window_rows
from collectors.contract.events import Event
from collectors.kafka.client import put
from deploy.cli import main
from streaming.archive import detected
from streaming.archive.write import ArchiveWriter

if TYPE_CHECKING:
    from deploy.embedded.programs.kafka import Kafka

BEGUN = Event(START + 61 * SECOND, None, "fault", (), "router B killed", "kill", "B")
ENDED = Event(BEGUN.at_ns, START + 68 * SECOND, "fault", (), "router B down for 7 s", "kill", "B")


def rows() -> list[bytes]:
    return [window_rows.encode(window(number=n, lost=7 if n == 13 else 0)) for n in range(40)]


def told(folder: Path, *arguments: str, kafka: str | None = None) -> Result:
    """The command with a config of this folder."""
    config = folder / "inflight.yaml"
    with_kafka = f"kafka: {{servers: ['{kafka}'], prefix: priced}}\n" if kafka else ""
    config.write_text(f"version: 1\nsite: here\nstate: {folder / 'state'}\n{with_kafka}")
    return CliRunner().invoke(main, ["report", "-c", str(config), *arguments])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One with a file of events, and an archive `rows`."""
    (tmp_path / "state").mkdir()
    lines = [
        events.encode(BEGUN),
        events.encode(Event(START, None, "deploy", (), "long ago")),
        events.encode(ENDED),
    ]
    (tmp_path / "state" / "events.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    ArchiveWriter(tmp_path / "rows").write(rows())
    detected.write(tmp_path / "rows", {ENDED.key: 1_300_000_000})
    return tmp_path


def test_from_archive_and_file(folder: Path) -> None:
    """As text, as JSON, and beside it as a page."""
    archive = ("--archive", str(folder / "rows"))
    done = told(folder, *archive, "--html", str(folder / "b.html"))
    assert done.exit_code == 0, done.output
    assert done.output.startswith("router B down for 7 s touched 1 of 1 path; 7 lost of 107 messages due;")
    assert "detected    after 1.3 s\n" in done.output
    assert "recovered   2.0 s after its end\n" in done.output
    assert (folder / "b.html").read_text().startswith("<!doctype html>")
    value = json.loads(told(folder, *archive, "--since", "kill", "--json").output)
    assert (value["total_during"]["lost"], value["recovered_ns"]) == (7, 2 * SECOND)
    other = told(folder, *archive, "--since", "2023-11-14T22:13:20", "--json")
    assert json.loads(other.output)["event"]["text"] == "long ago"


def test_of_some_paths(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By patterns; where there are too many windows for one report, that is what is asked for."""
    more = [window_rows.encode(window(f"b{n}", number=13, lost=1)) for n in range(3)]
    ArchiveWriter(folder / "rows").write(more)
    archive = ("--archive", str(folder / "rows"))
    assert "touched 4 of 4 paths; 10 lost" in told(folder, *archive).output
    assert "touched 3 of 3 paths; 3 lost" in told(folder, *archive, "--path", "b*").output
    monkeypatch.setattr("deploy.report.sources.MAX_ROWS", 10)
    done = told(folder, *archive)
    assert done.exit_code == 2
    assert (
        "more than 10 windows of that time, too many for one report: take some of the paths by" in done.output
    )
    assert told(folder, *archive, "--path", "b*").exit_code == 0


def test_lines_and_files_that_are_none_are_counted(folder: Path) -> None:
    """Events half written, and rows by somebody else: told, and the rest is used."""
    with (folder / "state" / "events.jsonl").open("ab") as file:
        file.write(
            b'{"v":1\n\xff\xfe\n\n[[[[\n' + b"[" * 100_000 + b'\n{"v":1,"at_ns":5,"kind":"party"}\n{"v":1,'
        )
    bad = json.loads(rows()[13])
    ArchiveWriter(folder / "rows").write(
        [
            json.dumps({**bad, "path": path, **more}).encode()
            for path, more in (("x", {"sent": 9}), ("y", {"due": -1}))
        ]
    )
    done = told(folder, "--archive", str(folder / "rows"))
    assert done.exit_code == 0, done.output
    assert "touched 1 of 1 path; 7 lost of 107" in done.output
    assert "left out: 6 events that are none" in done.output
    assert "left out: 1 rows that are none" in done.output
    assert "left out: 1 rows whose figures do not add up" in done.output


def test_of_a_large_file_the_end_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it grew to; a line that is cut in two is none."""
    monkeypatch.setattr("deploy.report.sources.MAX_EVENT_BYTES", 400)
    done = told(folder, "--archive", str(folder / "rows"))
    assert done.exit_code == 0
    assert "left out" not in done.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "say where the rows are with --archive FOLDER"),
        (("--archive", "none"), "none is no archive: `inflight stream --archive none` writes one"),
        (("--since", "broker", "--archive", "none"), "no event has the words 'broker'; the newest are:"),
        (("--archive", "rows", "--html", "no/where.html"), "no/where.html cannot be written: No such file"),
        (
            ("--archive", "rows", "--prometheus", "localhost:9090"),
            "write its address like http://127.0.0.1:9090",
        ),
        (
            ("--archive", "rows", "--prometheus", "http://127.0.0.1:1"),
            "Prometheus at http://127.0.0.1:1 cannot be asked",
        ),
    ],
)
def test_misuse_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    """In a sentence, with status 2."""
    monkeypatch.chdir(folder)
    done = told(folder, *arguments)
    assert done.exit_code == 2
    assert said in done.output
    assert "Traceback" not in done.output


def test_no_event_was_ever_recorded(tmp_path: Path) -> None:
    """Told with what records one."""
    done = told(tmp_path, "--archive", "none")
    assert done.exit_code == 2
    assert "no event is recorded: there is no" in done.output


class Answers(BaseHTTPRequestHandler):
    """Answers queries as Prometheus does; `series` by the beginning of the query."""

    series: ClassVar[dict[str, Any]] = {}
    status = 200

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)["query"][0]
        found = next((value for name, value in self.series.items() if query.startswith(name)), [])
        body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": found}}).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def prometheus() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Answers)
    Thread(target=server.serve_forever, daemon=True).start()
    Answers.status = 200
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def _alert(name: str, *seconds: float) -> dict[str, Any]:
    """A series as Prometheus has answered it."""
    labels = {"__name__": "ALERTS", "alertname": name, "alertstate": "firing", "severity": "page"}
    return {"metric": labels, "values": [[START / 1e9 + second, "1"] for second in seconds]}


def test_the_first_alert(folder: Path, prometheus: str) -> None:
    """That began to fire from the event's begin on; one that fired before tells nothing of it."""
    Answers.series = {
        "ALERTS": [
            _alert("PathSilent", 40, 55, 70, 85),
            _alert("RouterDown", 90.5, 105),
            _alert("AcceptedMessagesLost", 76.25, 91),
        ],
        "inflight_event_detected_seconds": [{"metric": {}, "values": [[START / 1e9 + 63, "2.5"]]}],
    }
    asked = ("--archive", str(folder / "rows"), "--prometheus", prometheus)
    assert "first alert after 15.2 s: AcceptedMessagesLost\n" in told(folder, *asked).output
    assert "detected    after 1.3 s\n" in told(folder, *asked).output
    (folder / "rows" / detected.FILE).unlink()
    assert "detected    after 2.5 s\n" in told(folder, *asked).output
    Answers.series = {}
    none = told(folder, *asked).output
    assert "first alert none fired\n" in none
    assert "detected    –\n" in none


@pytest.mark.parametrize(
    "series",
    [
        [7],
        [{"metric": {}, "values": [["1", "NaN"]]}],
        [{"metric": {}, "values": [["x", "y"]]}],
        [{"metric": {}, "values": 5}],
        7,
    ],
)
def test_a_prometheus_that_is_none(folder: Path, prometheus: str, series: Any) -> None:
    """Whatever answers there: a sentence, and status 2."""
    Answers.series = {"ALERTS": series}
    done = told(folder, "--archive", str(folder / "rows"), "--prometheus", prometheus)
    assert done.exit_code == 2
    assert "does not answer as Prometheus does" in done.output
    Answers.status = 503
    done = told(folder, "--archive", str(folder / "rows"), "--prometheus", prometheus)
    assert done.exit_code == 2
    assert "answered 503" in done.output


@pytest.mark.e2e
def test_from_kafka(kafka: Kafka, tmp_path: Path) -> None:
    """Rows and events of the topics, all revisions among them, and records that are none."""
    kafka.make_topics("priced")
    config = KafkaConfig(servers=(kafka.bootstrap,), prefix="priced")
    first = (time.time_ns() - START) // LENGTH - 40
    shift_ns = first * LENGTH
    begin_ns, end_ns = BEGUN.at_ns + shift_ns, (ENDED.until_ns or 0) + shift_ns
    put(config, topics.EVENTS, b"nonsense")
    for event in (BEGUN, ENDED):
        until_ns = None if event.until_ns is None else end_ns
        put(
            config,
            topics.EVENTS,
            events.encode(Event(begin_ns, until_ns, "fault", (), event.text, "kill", "B")),
        )
    for number in range(38):
        put(
            config,
            topics.WINDOWS,
            window_rows.encode(window(number=first + number, lost=7 if number == 13 else 0)),
        )
    put(config, topics.WINDOWS, b"{")
    revised = window(
        number=first + 13, values_ns=[2_000_000] * 54, lost=3, revision=1, moves={"lost>received": 4}
    )
    put(config, topics.WINDOWS, window_rows.encode(revised))
    done = told(tmp_path, "--since", "router B", kafka=kafka.bootstrap)
    assert done.exit_code == 0, done.output
    assert done.output.startswith("router B down for 7 s touched 1 of 1 path; 3 lost of 107 messages due;")
    assert "left out: 1 events that are none" in done.output
    assert "left out: 1 rows that are none" in done.output


def test_a_pipe_in_the_place_of_events(tmp_path: Path) -> None:
    """It is told, and keeps nobody waiting for a writer that never comes."""
    (tmp_path / "state").mkdir()
    os.mkfifo(tmp_path / "state" / "events.jsonl")
    done = told(tmp_path, "--archive", str(tmp_path))
    assert done.exit_code == 2
    assert f"the events in {tmp_path}/state/events.jsonl cannot be read: " in done.output


@pytest.mark.slow
def test_a_kafka_that_is_not_there(tmp_path: Path) -> None:
    """Told with its address."""
    servers = f"127.0.0.1:{free_port()}"
    done = told(tmp_path, kafka=servers)
    assert done.exit_code == 2
    assert f"Kafka at {servers} cannot be read: " in done.output
