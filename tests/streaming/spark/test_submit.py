"""What `inflight submit` writes and starts; tests/streaming/spark/test_cluster.py runs it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from click.testing import CliRunner
from cluster import REQUIREMENTS, required, spelt

from deploy.commands.submit import command
from deploy.spark_submit import package
from streaming.spark import settings

ROOT = Path(__file__).parents[3]
# As on a worker of a cluster: no editable install, and none of what only the driver's machine has.
ALONE = """
import os, sys
from importlib.util import find_spec
spark = os.path.dirname(*find_spec("pyspark").submodule_search_locations)
sys.meta_path[:] = [m for m in sys.meta_path if "editable" not in repr(m)]
for name in sys.argv[2:]:
    sys.modules[name] = None
sys.path[:] = [sys.argv[1], *(p for p in sys.path if p.endswith("site-packages") or "/lib/python" in p)]
sys.path.append(spark)
import streaming.spark.processor, streaming.spark.submit
assert streaming.spark.processor.__file__.startswith(sys.argv[1]), streaming.spark.processor.__file__
"""


def config(folder: Path, server: str = "kafka-1:9092", prefix: str = "inflight") -> Path:
    """A config file with the default rules of the tests."""
    file = folder / "inflight.yaml"
    kafka = f"{{servers: ['{server}'], prefix: {prefix}}}"
    file.write_text(f"version: 1\nsite: a\nkafka: {kafka}\nstate: {folder / 'state'}\n")
    return file


def not_needed() -> list[str]:
    """Modules of all that is installed but not asked for by deploy/spark_submit/requirements.txt."""
    found = {"inflight-monitor", "pyspark", "py4j", *required()}
    owners = metadata.packages_distributions()
    return sorted(module for module, names in owners.items() if not found & {*map(spelt, names)})


def test_the_package_stands_alone(tmp_path: Path) -> None:
    """Workers import the job from it with no other part of the project, and only the packages told."""
    file = tmp_path / "inflight.zip"
    assert package.build(file) > 20
    blocked = not_needed()
    assert {"pydantic", "yaml", "click", "crc32c", "proton", "rich"} <= set(blocked)
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
    assert words[-2].endswith("streaming/spark/submit.py")


def test_a_cluster_needs_a_checkpoint_that_all_see(tmp_path: Path) -> None:
    """The default is a folder of this machine."""
    result = CliRunner().invoke(command, ["-c", str(config(tmp_path)), "--master", "yarn", "--dry-run"])
    assert result.exit_code == 2
    assert "give --checkpoint" in result.output
