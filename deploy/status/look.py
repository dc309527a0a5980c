"""One look at routers and brokers: two polls of each."""

from __future__ import annotations

import threading
import time
from typing import Final

from prometheus_client import CollectorRegistry

from collectors.broker.collector import BrokerSeen
from collectors.config.model import Config
from collectors.router.mesh import MeshView
from collectors.runner import Fleet
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
    views: dict[_Target, list[MeshView | BrokerSeen]] = {}
    changed = threading.Condition()

    def seen(view: MeshView | BrokerSeen) -> None:
        with changed:
            views.setdefault(_target(view), []).append(view)
            changed.notify_all()

    late = f"no answer within {timeout:g}s"
    unseen: list[MeshView | BrokerSeen] = [MeshView(name, 0, 0, failure=late) for name in config.meshes]
    unseen += [
        BrokerSeen(broker.mesh, name, None, None, late, timeout, 0) for name, broker in config.brokers.items()
    ]

    def enough() -> bool:
        found = [views.get(_target(view)) for view in unseen]
        return all(got and (got[-1].failure or _known(got)) for got in found)

    fleet = Fleet(config, CollectorRegistry(), seen=seen)
    fleet.start()
    deadline = time.monotonic() + timeout
    with changed:
        while not enough() and (left := deadline - time.monotonic()) > 0:
            changed.wait(left)
        newest = [views.get(_target(view), [view])[-1] for view in unseen]
    fleet.close(seconds=1.0)
    return status(
        [view for view in newest if isinstance(view, MeshView)],
        [view for view in newest if isinstance(view, BrokerSeen)],
        one_mesh=one_mesh,
    )


def _target(view: MeshView | BrokerSeen) -> _Target:
    return type(view), view.mesh if isinstance(view, MeshView) else view.broker


def _known(views: list[MeshView | BrokerSeen]) -> bool:
    newest = views[-1]
    return newest.settled if isinstance(newest, MeshView) else len(views) > 1
