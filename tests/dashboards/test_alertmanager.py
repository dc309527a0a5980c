"""The example for Alertmanager: as amtool reads it, and what a real one keeps quiet by it."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import free_port, missing, wait_until
from rule_cases import BUDGETS, PATHS, ROUTERS
from rule_cases_more import BROKERS, MONITOR

import dashboards
from deploy.embedded import http
from deploy.embedded.supervise.ports import LOOPBACK
from deploy.embedded.supervise.process import ProcessSpec
from deploy.embedded.supervise.supervisor import Supervisor

EXAMPLE = Path(dashboards.__file__).parent / "alertmanager.example.yml"
CASES = (*PATHS, *BUDGETS, *ROUTERS, *BROKERS, *MONITOR)
Labels = dict[str, str]


def fired(alert: str, **changes: str) -> Labels:
    """An alert as the rule makes it, by the first story in which it fires, with some labels changed."""
    case = next(case for case in CASES if case.alert == alert and case.fires)
    return {"alertname": alert, **case.fires[0], **changes}


def _program(*names: str) -> str:
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        missing(names[0])
        raise AssertionError
    return found


@pytest.fixture
def alertmanager(tmp_path: Path) -> Iterator[str]:
    """Its address; it has the example, and nobody listens where that sends to."""
    program = _program("alertmanager", "prometheus-alertmanager")  # the second is Debian's
    address = f"{LOOPBACK}:{free_port()}"
    spec = ProcessSpec(
        name="alertmanager",
        argv=[
            program,
            f"--config.file={EXAMPLE}",
            f"--storage.path={tmp_path / 'data'}",
            f"--web.listen-address={address}",
            "--cluster.listen-address=",
        ],
        ready=lambda: "ok" in http.get(f"http://{address}/-/ready").lower(),
        cwd=tmp_path,
    )
    with Supervisor(tmp_path / "state") as supervisor:
        supervisor.start(spec)
        yield f"http://{address}"


def _set(alerts: list[Labels]) -> set[frozenset[tuple[str, str]]]:
    """To be compared whatever the order; an empty label is none."""
    return {frozenset((name, value) for name, value in labels.items() if value) for labels in alerts}


def _keeps_quiet(url: str, alerts: list[Labels], expected: list[Labels]) -> None:
    """Of all these alerts exactly the expected ones are inhibited; it learns of them one after the other."""
    body = json.dumps([{"labels": labels} for labels in alerts]).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/api/v2/alerts", body, headers)  # noqa: S310 -- of this test
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 -- the same
        assert answer.status == 200

    def as_expected() -> bool:
        found: list[dict[str, Any]] = json.loads(http.get(f"{url}/api/v2/alerts"))
        quiet = [alert["labels"] for alert in found if alert["status"]["inhibitedBy"]]
        assert (len(found), _set(quiet)) == (len(alerts), _set(expected))
        return True

    wait_until(as_expected, 20, "the expected alerts, and no others, to be quiet")


def test_amtool_is_content() -> None:
    """Whoever copies the example can start from it."""
    done = subprocess.run(
        [_program("amtool"), "check-config", str(EXAMPLE)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SUCCESS" in done.stdout


@pytest.mark.parametrize(
    ("alert", "receiver"),
    [
        ({"alertname": "PathSilent", "severity": "page"}, "pager"),
        ({"alertname": "RouterDown", "severity": "ticket"}, "tickets"),
        ({"alertname": "Watchdog", "severity": "none"}, "dead-man"),
        ({"alertname": "RouterRestarted", "severity": "info"}, "nobody"),
    ],
    ids=lambda value: value if isinstance(value, str) else value["alertname"],
)
def test_each_severity_goes_where_it_should(alert: Labels, receiver: str) -> None:
    """Pages to the pager, tickets to the tickets, the watchdog out of the network, info to nobody."""
    command = [_program("amtool"), "config", "routes", "test", f"--config.file={EXAMPLE}"]
    done = subprocess.run(
        [*command, *(f"{name}={value}" for name, value in alert.items())],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stdout.strip() == receiver, done.stderr


def test_a_dead_router_keeps_its_links_quiet(alertmanager: str) -> None:
    """Its own links, its neighbours' to it, and what its mesh lacks; no other router's, mesh's or path's."""
    down = fired("RouterDown")
    own = fired("LinkStalled", router=down["router"])
    to_it = fired("LinkStalled", router="neighbour", peer=down["router"], address="")
    lacking = fired("TopologyDiffers", kind="missing_link")
    loud = [
        down,
        fired("LinkStalled", router="another", peer="a third"),
        fired("LinkStalled", router=down["router"], mesh="another"),
        fired("CreditStarved", router="another", peer="", address="clients"),
        fired("TopologyDiffers", kind="unexpected_link"),
        fired("PathSilent"),
    ]
    quiet = [own, to_it, fired("CreditStarved", router=down["router"]), lacking]
    _keeps_quiet(alertmanager, [*loud, *quiet], quiet)


def test_figures_of_the_past_wake_nobody(alertmanager: str) -> None:
    """While the pipeline stands still the paths' alerts are quiet, the brokers' and routers' are not."""
    stalled, router, broker = fired("PipelineStalled"), fired("RouterDown"), fired("BrokerNearLimit")
    quiet = [fired("PathSilent"), fired("AcceptedMessagesLost"), fired("DeliveryBudgetBurn", pace="fast")]
    _keeps_quiet(alertmanager, [stalled, router, broker, *quiet], quiet)


def test_one_trouble_is_told_once(alertmanager: str) -> None:
    """The fast burn of an objective silences its slow one; a silent path silences its burning budget."""
    fast = fired("LatencyBudgetBurn", pace="fast", path="q")
    slow = fired("LatencyBudgetBurn", pace="slow", path="q")
    other = fired("LatencyBudgetBurn", pace="slow", path="r")
    silent = fired("PathSilent")
    burns = fired("DeliveryBudgetBurn", pace="slow", path=silent["path"], mesh=silent["mesh"])
    _keeps_quiet(alertmanager, [fast, slow, other, silent, burns], [slow, burns])
