"""Prometheus, which scrapes the targets given, where the program is on the PATH."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from deploy.embedded import http
from deploy.embedded.supervise.ports import LOOPBACK, free_port
from deploy.embedded.supervise.process import ProcessSpec
from deploy.embedded.supervise.service import Service
from deploy.embedded.supervise.supervisor import Supervisor

_SCRAPE_SECONDS = 2


def program() -> str | None:
    return shutil.which("prometheus")


class Prometheus(Service):
    """Prometheus at `url`. `targets` has the addresses `host:port` by job, `rules` are files of rules."""

    def __init__(
        self,
        supervisor: Supervisor,
        *,
        targets: Mapping[str, Sequence[str]],
        rules: Sequence[Path] = (),
        port: int | None = None,
        fresh: bool = True,
    ) -> None:
        super().__init__(supervisor)
        self._address = f"{LOOPBACK}:{port or free_port()}"
        self._directory = supervisor.directory("prometheus", fresh=fresh)
        self._config = self._directory / "prometheus.yml"
        self._config.write_text(yaml.safe_dump(_config(targets, rules), sort_keys=False))

    @property
    def url(self) -> str:
        return f"http://{self._address}"

    def _spec(self) -> ProcessSpec:
        return ProcessSpec(
            name="prometheus",
            argv=[
                program() or "prometheus",
                f"--config.file={self._config}",
                f"--storage.tsdb.path={self._directory / 'data'}",
                "--storage.tsdb.retention.time=2d",
                f"--web.listen-address={self._address}",
                "--web.enable-lifecycle",
                "--log.level=warn",
            ],
            ready=lambda: "ready" in http.get(f"{self.url}/-/ready").lower(),
            cwd=self._directory,
        )


def _config(targets: Mapping[str, Sequence[str]], rules: Sequence[Path]) -> dict[str, object]:
    return {
        "global": {
            "scrape_interval": f"{_SCRAPE_SECONDS}s",
            "scrape_timeout": f"{_SCRAPE_SECONDS}s",
            "evaluation_interval": f"{_SCRAPE_SECONDS}s",
        },
        "rule_files": [str(path.resolve()) for path in rules],
        "scrape_configs": [
            {"job_name": job, "static_configs": [{"targets": list(addresses)}]}
            for job, addresses in targets.items()
        ],
    }
