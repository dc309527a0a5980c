"""The job by spark-submit: its package stands alone, and executors of their own give the same rows."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tomllib
import uuid
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from helpers import wait_until
from spark_job import expected, produce, window_rows
from synthetic import Flow

from deploy import package
from deploy.commands.submit import command
from streaming import settings

if TYPE_CHECKING:
    from deploy.embedded.kafka import Kafka

FLOWS = [Flow(f"path-{number}", 10, lose_every=4 + number) for number in range(4)]
ROOT = Path(__file__).parents[2]
REQUIREMENTS = [
    line
    for line in (ROOT / "deploy" / "spark_submit" / "requirements.txt").read_text().splitlines()
    if not line.startswith("#")
]
# As on a worker of a cluster: no editable install, and none of what only the driver's machine has.
ALONE = """
import sys
sys.meta_path[:] = [m for m in sys.meta_path if "editable" not in repr(m)]
for name in sys.argv[2:]:
    sys.modules[name] = None
sys.path[:] = [sys.argv[1], *(p for p in sys.path if p.endswith("site-packages") or "/lib/python" in p)]
import streaming.processor, streaming.submit
assert streaming.processor.__file__.startswith(sys.argv[1]), streaming.processor.__file__
"""


def config(folder: Path, server: str = "kafka-1:9092", prefix: str = "inflight") -> Path:
    """A config file with the default rules of the tests."""
    file = folder / "inflight.yaml"
    kafka = f"{{servers: ['{server}'], prefix: {prefix}}}"
    file.write_text(f"version: 1\nsite: a\nkafka: {kafka}\nstate: {folder / 'state'}\n")
    return file


def not_needed() -> list[str]:
    """Modules of all that is installed but not asked for by deploy/spark_submit/requirements.txt."""
    wanted = {"pyspark", *(re.split("[<>=]", line)[0] for line in REQUIREMENTS)}
    found = {"inflight-monitor"}
    while wanted:
        name = wanted.pop()
        found.add(name)
        needs = [need for need in metadata.requires(name) or () if "extra ==" not in need]
        wanted |= {_spelt(re.split(r"[^\w.-]", need)[0]) for need in needs} - found
    owners = metadata.packages_distributions()
    return sorted(module for module, names in owners.items() if not found & {*map(_spelt, names)})


def _spelt(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def test_the_package_stands_alone(tmp_path: Path) -> None:
    """Workers import the job from it with no other part of the project, and only the packages told."""
    file = tmp_path / "inflight.zip"
    assert package.build(file) > 20
    blocked = not_needed()
    assert {"pydantic", "yaml", "kafka", "click", "crc32c", "lz4", "proton", "rich"} <= set(blocked)
    command_line = [sys.executable, "-c", ALONE, str(file), *blocked]
    done = subprocess.run(command_line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_clusters_packages_are_as_the_projects_own() -> None:
    """In the same versions that the tests run with."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert set(REQUIREMENTS) <= set(project)


def test_the_same_code_makes_the_same_package(tmp_path: Path) -> None:
    """Byte for byte: what runs on a cluster can be told by its checksum."""
    package.build(tmp_path / "a.zip")
    package.build(tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_package_only_writes_the_jobs_files(tmp_path: Path) -> None:
    """Its code, and its settings as the job reads them."""
    options = [
        "-c",
        str(config(tmp_path)),
        "--checkpoint",
        "/shared",
        "--package",
        str(tmp_path / "out" / "job.zip"),
    ]
    result = CliRunner().invoke(command, options)
    assert result.exit_code == 0, result.output
    told = settings.decode((tmp_path / "out" / "job.json").read_text())
    assert told.checkpoint == "/shared"


def test_dry_run_shows_the_command_line(tmp_path: Path) -> None:
    """What is after -- goes to spark-submit before the file that it runs."""
    options = [
        "-c",
        str(config(tmp_path)),
        "--checkpoint",
        "/shared",
        "--master",
        "spark://one:7077",
        "--dry-run",
    ]
    result = CliRunner().invoke(command, [*options, "--", "--total-executor-cores", "4"])
    assert result.exit_code == 0, result.output
    words = result.output.split()
    assert words[1:3] == ["--master", "spark://one:7077"]
    assert words[words.index("--py-files") + 1].endswith("inflight.zip")
    assert words[-4:-2] == ["--total-executor-cores", "4"]
    assert words[-2].endswith("streaming/submit.py")


def test_a_cluster_needs_a_checkpoint_that_all_see(tmp_path: Path) -> None:
    """The default is a folder of this machine."""
    result = CliRunner().invoke(command, ["-c", str(config(tmp_path)), "--master", "yarn", "--dry-run"])
    assert result.exit_code == 2
    assert "give --checkpoint" in result.output


@pytest.mark.e2e
def test_executors_of_their_own_give_the_same_rows(kafka: Kafka, tmp_path: Path) -> None:
    """spark-submit with an executor that is a process of its own; SIGTERM ends it cleanly."""
    prefix = f"submit-{uuid.uuid4().hex[:8]}"
    kafka.make_topics(prefix)
    topic, windows = f"{prefix}.samples", f"{prefix}.windows"
    produce(
        kafka.bootstrap, topic, [(f.path, value) for at in range(30) for f in FLOWS for value in f.second(at)]
    )
    argv = [
        *(sys.executable, "-m", "deploy", "submit", "-c", str(config(tmp_path, kafka.bootstrap, prefix))),
        *("--checkpoint", str(tmp_path / "checkpoint"), "--listen", "127.0.0.1:0", "--trigger", "100ms"),
        *("--master", "local-cluster[1,1,1024]", "--python", sys.executable, "--"),
        *(
            "--driver-memory",
            "512m",
            "--conf",
            "spark.executor.memory=512m",
            "--conf",
            "spark.ui.enabled=false",
        ),
        *("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1"),
    ]
    log = tmp_path / "submit.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            argv,
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"},  # starts in half the time
            start_new_session=True,
        )
    try:
        wanted = expected(kafka.bootstrap, topic)
        assert len(wanted) == 4 * 4
        wait_until(
            lambda: window_rows(kafka.bootstrap, windows)[0] == wanted, 240, "all windows", every_seconds=1
        )
        process.terminate()
        process.wait(15)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
