"""A standalone Spark cluster on this machine, as deploy/spark_submit/README.md tells to make one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import urllib.request
from importlib import metadata
from pathlib import Path

import pyspark
from helpers import free_port, wait_until

from deploy.embedded.supervise.process import Process, ProcessSpec
from deploy.embedded.supervise.supervisor import Supervisor

REQUIREMENTS = [
    line
    for line in (Path(__file__).parents[1] / "deploy" / "spark_submit" / "requirements.txt")
    .read_text()
    .splitlines()
    if not line.startswith("#")
]
SPARK_HOME = Path(pyspark.__path__[0])
_LOOPBACK = "127.0.0.1"


def required() -> set[str]:
    """Return the distributions that installing deploy/spark_submit/requirements.txt brings."""
    wanted, found = {_name(line) for line in REQUIREMENTS}, set[str]()
    while wanted:
        found.add(name := wanted.pop())
        needs = [need for need in metadata.requires(name) or () if "extra ==" not in need]
        wanted |= {_name(need) for need in needs} - found
    return found


def _name(requirement: str) -> str:
    return spelt(re.split(r"[^\w.-]", requirement)[0])


def spelt(name: str) -> str:
    """Return the normal form of a distribution's name."""
    return re.sub("[-_.]+", "-", name).lower()


def make_python(folder: Path) -> Path:
    """Make a virtual environment with `required()` alone, in the versions that are installed here."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    here, there = (
        Path(sysconfig.get_path("purelib", vars=variables))
        for variables in ({}, {"base": str(folder), "platbase": str(folder)})
    )
    for name in required():
        for top in {file.parts[0] for file in metadata.files(name) or ()} - {"..", "__pycache__"}:
            link = there / top
            if not link.exists():
                link.symlink_to(here / top)
    return folder / "bin" / "python3"


class Cluster:
    """One master, and workers of one core each, which a test may kill."""

    def __init__(self, supervisor: Supervisor, *, workers: int, worker_memory: str) -> None:
        self._supervisor = supervisor
        self._page = free_port()
        port = free_port()
        self.master = f"spark://{_LOOPBACK}:{port}"
        at_master = ("--host", _LOOPBACK, "--port", str(port), "--webui-port", str(self._page))
        supervisor.start(self._spec("master", "master.Master", *at_master, workers=0))
        self._workers = [
            self._worker(number, workers=number, memory=worker_memory) for number in range(1, workers + 1)
        ]

    def kill_worker(self) -> None:
        """Kill a worker with its executor and the Python of that."""
        self._workers[0].kill()

    def mend(self) -> None:
        """Start a killed worker again."""
        wait_until(lambda: len(self._alive()) < len(self._workers), 120, "the master to miss its worker")
        self._workers[0] = self._supervisor.start(self._workers[0].spec)

    def _worker(self, number: int, *, workers: int, memory: str) -> Process:
        name = f"worker-{number}"
        size = ("--cores", "1", "--memory", memory)
        where = ("--host", _LOOPBACK, "--webui-port", str(free_port()))
        folder = ("--work-dir", str(self._supervisor.directory(name)))
        spec = self._spec(name, "worker.Worker", *size, *where, *folder, self.master, workers=workers)
        return self._supervisor.start(spec)

    def _spec(self, name: str, main: str, *arguments: str, workers: int) -> ProcessSpec:
        return ProcessSpec(
            name=name,
            argv=[SPARK_HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{main}", *arguments],
            ready=lambda: len(self._alive()) == workers,
            timeout_seconds=120,
            env={
                "SPARK_HOME": str(SPARK_HOME),
                "SPARK_LOCAL_IP": _LOOPBACK,
                "SPARK_DAEMON_MEMORY": "192m",
                "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1",  # starts in half the time
            },
            # Not where the project is: a Python that starts there would find it.
            cwd=self._supervisor.directory(name),
        )

    def _alive(self) -> list[str]:
        with urllib.request.urlopen(f"http://{_LOOPBACK}:{self._page}/json/", timeout=5) as page:
            return [one["id"] for one in json.load(page)["workers"] if one["state"] == "ALIVE"]
