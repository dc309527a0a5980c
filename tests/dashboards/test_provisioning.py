"""The files for those who prefer files: as a real Grafana and promtool read them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from helpers import missing, wait_until

import dashboards
from dashboards import build
from deploy.embedded import http
from deploy.embedded.programs import grafana
from deploy.embedded.supervise.supervisor import Supervisor

FOLDER = Path(dashboards.__file__).parent
FILES = FOLDER / "provisioning"
BOARDS_LIE_IN = "/etc/inflight/dashboards"


@pytest.mark.e2e
@pytest.mark.usefixtures("grafana_home")
def test_grafana_takes_the_files_as_they_are(tmp_path: Path) -> None:
    """The dashboards from where they lie, in their folder, and the data source."""
    with Supervisor(tmp_path) as supervisor:
        server = grafana.Grafana(supervisor, prometheus_url="http://127.0.0.1:1")
        place = next(tmp_path.rglob("provisioning"))
        for kind in ("dashboards", "datasources"):
            text = (FILES / kind / "inflight.yaml").read_text()
            assert (BOARDS_LIE_IN in text) == (kind == "dashboards")
            (place / kind / "inflight.yaml").write_text(text.replace(BOARDS_LIE_IN, str(build.FOLDER)))
        server.start()

        def boards() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = json.loads(http.get(f"{server.url}/api/search?tag=inflight"))
            return found if len(found) == len(build.dashboards()) else []

        found = wait_until(boards, 30, "the dashboards")
        assert {board["folderTitle"] for board in found} == {"Inflight"}
        sources = json.loads(http.get(f"{server.url}/api/frontend/settings"))["datasources"]
        assert sources["Inflight"]["uid"] == "inflight-prometheus"
        assert sources["Inflight"]["type"] == "prometheus"


def test_prometheus_can_start_from_the_example(tmp_path: Path) -> None:
    """With the rules beside it, as it says."""
    if shutil.which("promtool") is None:
        missing("promtool")
    shutil.copytree(FOLDER / "rules", tmp_path / "rules")
    config = shutil.copy(FILES / "prometheus.example.yml", tmp_path / "prometheus.yml")
    done = subprocess.run(
        ["promtool", "check", "config", str(config)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
