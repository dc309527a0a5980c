"""The network of the demonstration, and what its config has beside that."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from deploy.lab.lab import Lab
from deploy.lab.routers import program_on_path
from deploy.topology import load
from deploy.topology.form import Topology

_FILE: Final = Path(__file__).with_name("demo.yaml")


def topology() -> Topology:
    """Return the network of the demonstration, for whichever routers are on the PATH."""
    return load.from_file(_FILE, program=program_on_path()).topology


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
