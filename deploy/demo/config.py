"""The config of the demonstration: that of its network, and what it has beside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from deploy.lab.lab import Lab


def write_config(
    lab: Lab, directory: Path, export_listen: str, counts: Mapping[str, int] | None = None
) -> Path:
    """Write the file and return it. `counts` has how many messages a path sends; without one, no end."""
    config = lab.config()
    # A demonstration is watched: results become final after a few seconds, not after a quarter of a minute.
    config["defaults"] = {"window": "2s", "settle": "4s", "ttl": "8s"}
    for name, count in (counts or {}).items():
        config["paths"][name]["count"] = count
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
