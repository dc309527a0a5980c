"""What is written from a topology with something of all kinds."""

from __future__ import annotations

import pytest
import yaml
from written_network import TOPOLOGY

from deploy.topology import load, outputs
from deploy.topology.load import Network
from deploy.topology.mistakes import Source


@pytest.fixture(scope="module")
def network() -> Network:
    return load.made(yaml.safe_load(TOPOLOGY), Source("prod"))


@pytest.fixture(scope="module")
def files(network: Network) -> dict[str, str]:
    return outputs.files(network)
