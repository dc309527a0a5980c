"""All that the demonstration starts, in order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import dashboards
from deploy.demo.config import write_config
from deploy.demo.stories import Story, topology
from deploy.embedded import http
from deploy.embedded.programs import grafana, prometheus
from deploy.embedded.supervise.ports import LOOPBACK, free_port
from deploy.embedded.supervise.process import Process, ProcessSpec
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.lab.lab import KAFKA, Lab
from deploy.lab.relay.wiring import Relayed
from deploy.lab.routers import STAND_IN

Say = Callable[[str], None]
_PARTS = ("export", "collect", "probe", "stream")
_START_SECONDS = 150.0  # on a quiet machine it takes ten; a busy one is no failure
_DASHBOARDS = Path(dashboards.__file__).parent


class Stack:
    """The network, Inflight's parts, and Prometheus and Grafana where they are found."""

    def __init__(
        self,
        supervisor: Supervisor,
        say: Say,
        *,
        story: Story | None = None,
        stand_ins: bool = False,
        counts: Mapping[str, int] | None = None,
    ) -> None:
        """`stand_ins` and `counts` are those of Lab and of `write_config`; `story` is what will be done."""
        self._supervisor = supervisor
        self._say = say
        self._listen = {name: f"{LOOPBACK}:{free_port()}" for name in _PARTS}
        wiring = Relayed(supervisor) if story is not None and story.breaks_links else None
        self.lab = Lab(supervisor, topology(story), wiring=wiring, stand_ins=stand_ins, kafka=True)
        self._counts = counts
        self.config_file = Path()
        self._pool = ThreadPoolExecutor(len(_PARTS))
        self._starting: list[Future[Process]] = []
        self.urls = {"live page": self.url("export") + "/", "metrics": self.url("export") + "/metrics"}

    @property
    def stand_ins(self) -> bool:
        """Whether the routers are stand-ins."""
        return self.lab.routers["A"].kind == STAND_IN

    def url(self, part: str) -> str:
        """Return the URL at which one of Inflight's parts serves its metrics."""
        return f"http://{self._listen[part]}"

    def start(self) -> None:
        """Start everything and return when it is ready."""
        self.start_network()
        self.start_parts()
        prometheus_url = self.start_prometheus()
        if prometheus_url is not None and grafana.installation() is not None:
            self._start_grafana(prometheus_url)

    def start_network(self) -> None:
        """Start the network; the job, which takes longest and needs only Kafka, starts meanwhile."""
        self._say("starting Kafka, Spark, Artemis and three routers")
        self.lab.start(KAFKA)
        directory = self._supervisor.directory("demo", fresh=True)
        self.config_file = write_config(self.lab, directory, self._listen["export"], self._counts)
        self._start("stream")
        self.lab.start()
        self.lab.wait_connected()
        kind = "stand-ins of Inflight's own" if self.stand_ins else self.lab.routers["A"].kind
        self._say(f"the routers are {kind}")

    def start_parts(self) -> None:
        """Start Inflight's other parts all at once, and return when all are ready, the job included."""
        self._say("starting probes, collectors and the exporter")
        for name in _PARTS:
            if name != "stream":
                self._start(name)
        for started in self._starting:
            started.result()

    def _start(self, name: str) -> None:
        self._starting.append(self._pool.submit(self._supervisor.start, self._spec(name)))

    def _spec(self, name: str) -> ProcessSpec:
        argv = [
            sys.executable,
            "-m",
            "deploy",
            name,
            "-c",
            str(self.config_file),
            "--listen",
            self._listen[name],
        ]
        return ProcessSpec(
            name=name,
            argv=argv,
            ready=lambda: bool(http.get(f"{self.url(name)}/-/ready")),
            timeout_seconds=_START_SECONDS,
        )

    def start_prometheus(self) -> str | None:
        """Start a Prometheus that scrapes Inflight's parts; return its URL, or None without the program."""
        if prometheus.program() is None:
            self._say("no `prometheus` on the PATH: the demonstration goes on without it")
            return None
        targets = {name: [self._listen[name]] for name in _PARTS}
        server = prometheus.Prometheus(self._supervisor, targets=targets, rules=_rules()).start()
        self.urls["Prometheus"] = server.url
        return server.url

    def _start_grafana(self, prometheus_url: str) -> None:
        """Start Grafana with the dashboards; tell if that fails, and go on."""
        try:
            shown = grafana.Grafana(
                self._supervisor, prometheus_url=prometheus_url, dashboards=_DASHBOARDS / "json"
            ).start()
        except Problem as problem:
            self._say(f"the demonstration goes on without Grafana: {problem.message}")
        else:
            self.urls["Grafana"] = f"{shown.url}/d/inflight-overview"


def _rules() -> list[Path]:
    return sorted((_DASHBOARDS / "rules").glob("*.rules.yml"))
