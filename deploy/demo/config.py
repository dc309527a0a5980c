"""The config file of the demonstration: its paths, and all else beside the network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from deploy.embedded.network import MESH, Network


def _paths(network: Network) -> dict[str, dict[str, Any]]:
    queue = network.queues[0]
    receive = network.routers["C"].receive_address(queue)
    return {
        "direct": {"from": "A", "to": "C", "address": "inflight/direct", "rate": "50/s"},
        "orders": {
            "from": "A",
            "to": "C",
            "address": queue,
            "receive_address": receive,
            "via": network.artemis.name,
            "rate": "20/s",
        },
        "presettled": {
            "from": "C",
            "to": "A",
            "address": "inflight/presettled",
            "presettled": True,
            "rate": "100/s",
        },
        "fanout": {"from": "A", "to": ["B", "C"], "address": "multicast/inflight", "rate": "20/s"},
    }


def write_config(
    network: Network, directory: Path, export_listen: str, counts: Mapping[str, int] | None = None
) -> Path:
    """Write the file and return it. `counts` has how many messages a path sends; without one, no end."""
    config = network.config()
    # A demonstration is watched: results become final after a few seconds, not after a quarter of a minute.
    config["defaults"] = {"window": "2s", "settle": "4s", "ttl": "8s"}
    config["paths"] = _paths(network)
    for name, count in (counts or {}).items():
        config["paths"][name]["count"] = count
    a, b, c = (router.router_id for router in network.routers.values())
    config["meshes"][MESH]["expect"] = [f"{a}--{b}", f"{b}--{c}"]
    config["slos"] = [
        {"paths": "*", "delivered": "99.9%"},
        {"paths": "*", "latency": "50ms", "share": "99%"},
    ]
    config["export"] = {"listen": export_listen}
    config["state"] = str(directory)
    file = directory / "inflight.yaml"
    directory.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
    return file
