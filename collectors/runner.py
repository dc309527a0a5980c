"""Runs all collectors of a site, each in a thread: one slow target does not delay another."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from prometheus_client import CollectorRegistry

from collectors.broker.collector import BrokerCollector
from collectors.config import paths
from collectors.config.model import Config
from collectors.polling.context import PollContext, Publish
from collectors.polling.metric_cache import MetricCache
from collectors.polling.poll_metrics import PollMetrics
from collectors.polling.schedule import Stop
from collectors.process.worker import Worker, joined
from collectors.router.collector import MeshCollector

_log: Final = logging.getLogger("inflight.collect")


class CollectorRunner:
    """Runs all collectors of a site from `start` until `close`; `publish` is called from their threads.

    Metric values go to `cache`, which the caller renders; without one they are registered.
    """

    def __init__(
        self,
        config: Config,
        registry: CollectorRegistry,
        publish: Publish = lambda _topic, _record: None,
        on_status: Callable[[Any], None] = lambda _: None,
        cache: MetricCache | None = None,
    ) -> None:
        poll_metrics = PollMetrics()
        if cache is None:
            cache = MetricCache()
            registry.register(cache)
        registry.register(poll_metrics)
        context = PollContext(
            config.site,
            cache,
            poll_metrics,
            publish,
            paths.addresses_by_mesh(config),
            paths.queues_by_broker(config),
        )
        self._stop = Stop()
        self._collectors: list[MeshCollector | BrokerCollector] = [
            MeshCollector(name, mesh, context, self._stop, on_status) for name, mesh in config.meshes.items()
        ]
        self._collectors += [
            BrokerCollector(name, broker, context, self._stop, on_status)
            for name, broker in config.brokers.items()
        ]
        self._workers = [Worker(f"collect-{collector.name}", collector.run) for collector in self._collectors]

    def start(self) -> None:
        for worker in self._workers:
            worker.start()

    @property
    def problem(self) -> str | None:
        """Why a target is not polled any more."""
        meshes = (each.problem for each in self._collectors if isinstance(each, MeshCollector))
        return joined(*(worker.problem for worker in self._workers), *meshes)

    def not_ready(self) -> str | None:
        """Return what is not ready yet: a target that was never polled, or is not polled any more."""
        if self.problem is not None:
            return self.problem
        waiting = [collector.name for collector in self._collectors if not collector.tried]
        return f"not polled yet: {', '.join(waiting)}" if waiting else None

    def close(self, seconds: float = 5.0) -> None:
        """End all threads; one that is connecting is left to end with the process."""
        self._stop.set()
        share = seconds / max(1, len(self._workers)) if seconds else None
        if left := [worker.name for worker in self._workers if not worker.join(share)]:
            _log.debug("still waiting for the network: %s", ", ".join(left))
