"""The embedded Grafana: a real one, where there is one."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from helpers import wait_until

from deploy.embedded import http
from deploy.embedded.programs import grafana
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem


@pytest.mark.e2e
@pytest.mark.usefixtures("grafana_home")
def test_a_viewer_sees_the_dashboards_and_an_admin_the_data_source(tmp_path: Path) -> None:
    """Dashboards from files are there for everyone; the password from the file opens the rest."""
    dashboards = tmp_path / "dashboards"
    dashboards.mkdir()
    (dashboards / "d.json").write_text(json.dumps({"title": "Paths", "uid": "paths", "panels": []}))
    with Supervisor(tmp_path / "state") as supervisor:
        server = grafana.Grafana(
            supervisor, prometheus_url="http://127.0.0.1:9090", dashboards=dashboards
        ).start()
        search = f"{server.url}/api/search?query=Paths"
        found = wait_until(lambda: json.loads(http.get(search)), 20, "the dashboard from the file")
        assert [d["uid"] for d in found] == ["paths"]
        password = server.password_file.read_text().strip()
        token = base64.b64encode(f"{server.user}:{password}".encode()).decode()
        request = Request(f"{server.url}/api/datasources", headers={"Authorization": f"Basic {token}"})  # noqa: S310
        with urlopen(request, timeout=5) as reply:  # noqa: S310 -- our own http URL, twice
            assert [(s["type"], s["url"]) for s in json.load(reply)] == [
                ("prometheus", "http://127.0.0.1:9090")
            ]


def test_a_wrong_place_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever names a Grafana that is none hears it, and is not given another one."""
    monkeypatch.setenv(grafana.PROGRAM, str(tmp_path))
    with pytest.raises(Problem, match="is no Grafana: name its home directory or its program"):
        grafana.installation()


def test_a_script_named_grafana_is_not_taken_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program without a home directory beside it is not used."""
    script = tmp_path / "grafana"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.delenv(grafana.PROGRAM, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(grafana, "_PACKAGED_HOME", tmp_path / "nowhere")
    assert grafana.installation() is None
