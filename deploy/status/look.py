"""One look at routers and brokers: two polls of each."""

from __future__ import annotations

import threading
import time
from typing import Final

from prometheus_client import CollectorRegistry

from collectors.broker.collector import BrokerStatus
from collectors.config.model import Config
from collectors.router.mesh_status import MeshStatus
from collectors.runner import CollectorRunner
from deploy.status.model import Status, status

_INTERVAL_SECONDS: Final = 1

_Target = tuple[type, str]  # a mesh and a broker may have one name


def _hurried(config: Config) -> Config:
    """Returns the config with an interval of a second: two polls are enough."""
    interval = {"interval": _INTERVAL_SECONDS * 1_000_000_000}
    return config.model_copy(
        update={
            "meshes": {name: mesh.model_copy(update=interval) for name, mesh in config.meshes.items()},
            "brokers": {name: broker.model_copy(update=interval) for name, broker in config.brokers.items()},
        }
    )


def look(config: Config, timeout: float, *, one_mesh: bool) -> Status:
    """Poll all targets twice, for rates, within `timeout` seconds; failures are among the findings."""
    config = _hurried(config)
    statuses: dict[_Target, list[MeshStatus | BrokerStatus]] = {}
    changed = threading.Condition()

    def seen(found: MeshStatus | BrokerStatus) -> None:
        with changed:
            statuses.setdefault(_target(found), []).append(found)
            changed.notify_all()

    late = f"no answer within {timeout:g}s"
    unseen: list[MeshStatus | BrokerStatus] = []
    unseen += [MeshStatus(name, 0, 0, failure=late) for name in config.meshes]
    unseen += [
        BrokerStatus(broker.mesh, name, None, None, late, timeout, 0)
        for name, broker in config.brokers.items()
    ]

    def enough() -> bool:
        found = [statuses.get(_target(each)) for each in unseen]
        return all(got and (got[-1].failure or _known(got)) for got in found)

    runner = CollectorRunner(config, CollectorRegistry(), on_status=seen)
    runner.start()
    deadline = time.monotonic() + timeout
    with changed:
        while not enough() and (left := deadline - time.monotonic()) > 0:
            changed.wait(left)
        newest = [statuses.get(_target(each), [each])[-1] for each in unseen]
    runner.close(seconds=1.0)
    return status(
        [each for each in newest if isinstance(each, MeshStatus)],
        [each for each in newest if isinstance(each, BrokerStatus)],
        one_mesh=one_mesh,
    )


def _target(found: MeshStatus | BrokerStatus) -> _Target:
    return type(found), found.mesh if isinstance(found, MeshStatus) else found.broker


def _known(statuses: list[MeshStatus | BrokerStatus]) -> bool:
    newest = statuses[-1]
    return newest.settled if isinstance(newest, MeshStatus) else len(statuses) > 1
