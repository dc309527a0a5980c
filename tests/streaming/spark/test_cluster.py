"""The job on a standalone cluster whose Python has what the README asks for, and nothing of the project."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest
from cluster import SPARK_HOME, Cluster, make_python
from helpers import wait_until
from spark_job import batches, expected, produce, window_rows
from synthetic import Flow

from collectors.config.paths import Rules
from collectors.contract.records import SECOND_NS
from deploy.embedded.supervise.supervisor import Supervisor
from streaming.spark import submit

if TYPE_CHECKING:
    from deploy.embedded.programs.kafka import Kafka

pytestmark = pytest.mark.e2e

FLOWS = [Flow(f"path-{number}", 10, lose_every=4 + number) for number in range(4)]
# Nobody is gone, however long the machine takes.
PATIENT = Rules(5 * SECOND_NS, 10 * SECOND_NS, 900 * SECOND_NS, 900 * SECOND_NS)
SMALL = ("--driver-memory", "512m", "--executor-memory", "512m", "--conf", "spark.ui.enabled=false")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Supervisor(tmp_path_factory.mktemp("spark")) as supervisor:
        yield Cluster(supervisor, workers=2, worker_memory="600m")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cluster's."""
    return make_python(tmp_path_factory.mktemp("python"))


@dataclass
class Topics:
    """Those of one job, and its config."""

    kafka: Kafka
    prefix: str
    config: Path

    def feed(self, seconds: range) -> None:
        records = [(flow.path, value) for at in seconds for flow in FLOWS for value in flow.second(at)]
        produce(self.kafka.bootstrap, f"{self.prefix}.samples", records)

    def wanted(self) -> list[bytes]:
        """What the accounting in process makes of it."""
        return expected(self.kafka.bootstrap, f"{self.prefix}.samples", PATIENT)

    def rows(self) -> tuple[list[bytes], int]:
        return window_rows(self.kafka.bootstrap, f"{self.prefix}.windows")

    def wait_for(self, wanted: list[bytes]) -> None:
        wait_until(lambda: self.rows()[0] == wanted, 240, "all windows", every_seconds=1)


@pytest.fixture
def topics(kafka: Kafka, tmp_path: Path) -> Topics:
    prefix = f"cluster-{uuid.uuid4().hex[:8]}"
    kafka.make_topics(prefix)
    config = tmp_path / "inflight.yaml"
    config.write_text(
        f"version: 1\nsite: a\nkafka: {{servers: ['{kafka.bootstrap}'], prefix: {prefix}}}\n"
        f"state: {tmp_path / 'state'}\ndefaults: {{gone_after: 15m}}\n"
    )
    return Topics(kafka, prefix, config)


class Submitted:
    """A job by its command line, where nothing is known of the project's folder."""

    def __init__(self, argv: Sequence[str | Path], folder: Path) -> None:
        self._log = folder / "submit.log"
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}
        with self._log.open("wb") as out:
            self._process = subprocess.Popen(
                [str(word) for word in argv],
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                env=environ,
                cwd=folder,  # a Python that starts in the project's would find it
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._gone():
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(10)

    def end(self) -> None:
        """SIGTERM to what the person started ends all of it."""
        self._process.terminate()
        wait_until(self._gone, 60, "the end of the job")

    def status(self) -> int:
        """That it ends with by itself."""
        return self._process.wait(120)

    def lines(self) -> list[str]:
        """Of the job's own in its log."""
        return [line for line in self._log.read_text().splitlines() if " inflight.stream: " in line]

    def _gone(self) -> bool:
        self._process.poll()
        try:
            os.killpg(self._process.pid, 0)
        except ProcessLookupError:
            return True
        return False


def _submit(topics: Topics, cluster: Cluster, checkpoint: Path, python: Path) -> list[str | Path]:
    """As deploy/spark_submit/README.md has it, for a small machine."""
    return [
        *(sys.executable, "-m", "deploy", "submit", "-c", topics.config, "--master", cluster.master),
        *("--checkpoint", checkpoint, "--listen", "127.0.0.1:0", "--trigger", "100ms"),
        *("--lanes", "2", "--max-records", "60", "--python", python),
    ]


def test_a_killed_worker_changes_no_row(
    topics: Topics, cluster: Cluster, python: Path, tmp_path: Path
) -> None:
    """One of two machines goes in mid-run: the rows are those of the accounting in process, byte for byte."""
    checkpoint = tmp_path / "checkpoint"
    topics.feed(range(40))
    argv = [*_submit(topics, cluster, checkpoint, python), "--", *SMALL]
    with Submitted(argv, tmp_path) as job:
        wait_until(lambda: batches(checkpoint) >= 4, 120, "four batches")
        cluster.kill_worker()
        try:
            topics.feed(range(40, 60))
            wanted = topics.wanted()
            assert len(wanted) == len(FLOWS) * (60 - 10) // 5  # a window is final 10 s after its end
            topics.wait_for(wanted)
        finally:
            cluster.mend()
        job.end()
        assert not [line for line in job.lines() if " ERROR " in line]


def test_files_handed_over_run_with_no_project_at_all(
    topics: Topics, cluster: Cluster, python: Path, tmp_path: Path
) -> None:
    """The driver's Python, too, has only what the README asks for; jars are those that --dry-run names."""
    topics.feed(range(20))
    told = [
        *_submit(topics, cluster, tmp_path / "checkpoint", python),
        "--package",
        tmp_path / "inflight.zip",
    ]
    subprocess.run([str(word) for word in told], check=True)
    shown = subprocess.run(
        [str(word) for word in (*told[:-2], "--dry-run")], check=True, capture_output=True, text=True
    )
    words = shlex.split(shown.stdout)
    argv = [
        *(SPARK_HOME / "bin" / "spark-submit", "--master", cluster.master, *SMALL),
        *("--jars", words[words.index("--jars") + 1], "--conf", f"spark.pyspark.python={python}"),
        *("--py-files", tmp_path / "inflight.zip", "--files", tmp_path / "inflight.json"),
        *(submit.__file__, tmp_path / "inflight.json"),
    ]
    with Submitted(argv, tmp_path) as job:
        wanted = topics.wanted()
        assert len(wanted) == len(FLOWS) * (20 - 10) // 5
        topics.wait_for(wanted)
        job.end()


def test_a_python_that_cannot_run_the_job(topics: Topics, cluster: Cluster, tmp_path: Path) -> None:
    """It ends with status 2, and says why in one line, with what to do."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "empty"], check=True)
    topics.feed(range(5))
    empty = tmp_path / "empty" / "bin" / "python3"
    argv = [*_submit(topics, cluster, tmp_path / "checkpoint", empty), "--", *SMALL]
    with Submitted(argv, tmp_path) as job:
        assert job.status() == 2
        said = job.lines()[-1]
    assert "cannot run with the Python of these machines: ModuleNotFoundError: No module named" in said
    assert "deploy/spark_submit/requirements.txt" in said
