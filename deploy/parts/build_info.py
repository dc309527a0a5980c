"""The metric that tells version and config of a process."""

from __future__ import annotations

import hashlib
from importlib.metadata import version

from prometheus_client import CollectorRegistry

from collectors.config.model import Config
from collectors.http.metric_factory import gauge


def add_build_info(registry: CollectorRegistry, part: str, config: Config) -> None:
    """Add `build_info` of this process: parts with different hashes run on different configs."""
    gauge("build_info", registry).labels(part, version("inflight-monitor"), config_hash(config)).set(1)


def config_hash(config: Config) -> str:
    """Returns a short hash of what hosts share of a config: all but `site` and `state`."""
    text = config.model_dump_json(exclude={"site", "state"})
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
