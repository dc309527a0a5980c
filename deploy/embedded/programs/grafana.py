"""Grafana with the embedded Prometheus as its source, where it is found."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Self

import yaml

from deploy.embedded import http
from deploy.embedded.supervise import password_files
from deploy.embedded.supervise.ports import LOOPBACK, free_port
from deploy.embedded.supervise.process import ProcessSpec
from deploy.embedded.supervise.service import Service
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem

PROGRAM = "INFLIGHT_GRAFANA"
_PACKAGED_HOME = Path("/usr/share/grafana")


def installation() -> tuple[Path, Path] | None:
    """Return the program and its home directory, or None if there is no Grafana.

    $INFLIGHT_GRAFANA may name either, and raises Problem if it names something else; without it the program
    is looked for on the PATH.
    """
    named = os.environ.get(PROGRAM)
    if named:
        path = Path(named)
        found = _complete(path / "bin" / "grafana") if path.is_dir() else _complete(path)
        if found is None:
            raise Problem(
                f"{PROGRAM}={named} is no Grafana: name its home directory or its program `grafana`"
            )
        return found
    on_path = shutil.which("grafana")
    return _complete(Path(on_path)) if on_path else None


def _complete(program: Path) -> tuple[Path, Path] | None:
    """Return the program with its home directory, without which it cannot start; None if that is missing."""
    real = program.resolve()
    for home in (real.parent.parent, _PACKAGED_HOME):
        if os.access(real, os.X_OK) and (home / "conf" / "defaults.ini").is_file():
            return real, home
    return None


class Grafana(Service):
    """Grafana at `url`: anybody may view, `user` with the password in `password_file` may edit."""

    user = "admin"

    def __init__(
        self,
        supervisor: Supervisor,
        *,
        prometheus_url: str,
        dashboards: Path | None = None,
        port: int | None = None,
        fresh: bool = True,
    ) -> None:
        super().__init__(supervisor)
        self._port = port or free_port()
        self._directory = supervisor.directory("grafana", fresh=fresh)
        self.password_file = self._directory / "admin.password"
        password_files.password(self.password_file)
        self._provision(prometheus_url, dashboards)

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self._port}"

    def start(self) -> Self:
        """Start it; a first start sometimes fails on its new database, and is tried again with another."""
        try:
            return super().start()
        except Problem:
            shutil.rmtree(self._directory / "data", ignore_errors=True)
            return super().start()

    def _provision(self, prometheus_url: str, dashboards: Path | None) -> None:
        source = {
            "name": "Prometheus",
            "uid": "prometheus",
            "type": "prometheus",
            "access": "proxy",
            "url": prometheus_url,
            "isDefault": True,
            # The scrape interval, from which Grafana derives the smallest useful interval of a rate.
            "jsonData": {"timeInterval": "2s", "httpMethod": "POST"},
        }
        for kind in ("plugins", "notifiers", "alerting", "dashboards"):  # it logs a missing one as an error
            (self._directory / "provisioning" / kind).mkdir(parents=True, exist_ok=True)
        self._provide("datasources", {"apiVersion": 1, "datasources": [source]})
        if dashboards is not None:
            folder = {
                "name": "Inflight",
                "folder": "Inflight",
                "type": "file",
                "options": {"path": str(dashboards.resolve())},
            }
            self._provide("dashboards", {"apiVersion": 1, "providers": [folder]})

    def _provide(self, kind: str, content: object) -> None:
        path = self._directory / "provisioning" / kind / "inflight.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(content, sort_keys=False))

    def _spec(self) -> ProcessSpec:
        found = installation()
        if found is None:
            raise Problem(f"no Grafana found: put `grafana` on the PATH, or its home directory in ${PROGRAM}")
        program, home = found
        settings = {
            "server.http_addr": LOOPBACK,
            "server.http_port": self._port,
            "paths.data": self._directory / "data",
            "paths.logs": self._directory / "data" / "log",
            "paths.plugins": self._directory / "data" / "plugins",
            "paths.provisioning": self._directory / "provisioning",
            "analytics.reporting_enabled": "false",
            "analytics.check_for_updates": "false",
            "analytics.check_for_plugin_updates": "false",
            "news.news_feed_enabled": "false",
            "security.disable_gravatar": "true",
            "auth.anonymous.enabled": "true",
            "auth.anonymous.org_role": "Viewer",
            "log.level": "warn",
        }
        overrides = [f"cfg:{key}={value}" for key, value in settings.items()]
        return ProcessSpec(
            name="grafana",
            argv=[program, "server", "--homepath", home, *overrides],
            ready=lambda: "ok" in http.get(f"{self.url}/api/health"),
            timeout_seconds=90,
            env={"GF_SECURITY_ADMIN_PASSWORD": f"$__file{{{self.password_file}}}"},
            cwd=self._directory,
        )
