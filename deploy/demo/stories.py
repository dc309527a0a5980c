"""The stories of the demonstration, as stories.yaml has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from collectors.router.topology import EXPECT_SEPARATOR
from deploy.lab.routers import program_on_path
from deploy.topology import load
from deploy.topology.form import Topology
from deploy.topology.mistakes import Source

NETWORK: Final = Path(__file__).with_name("demo.yaml")
_FILE: Final = Path(__file__).with_name("stories.yaml")
KILLED: Final = "killed"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Story:
    """What is done to the network, how that differs from demo.yaml, and the path on which it shows."""

    name: str
    says: str
    path: str
    do: Sequence[Json]
    change: Json = field(default_factory=dict)

    @property
    def breaks_links(self) -> bool:
        """Whether links have to pass through relays for it."""
        return any(EXPECT_SEPARATOR in action["what"] for action in self.do)


@cache
def stories() -> Mapping[str, Story]:
    """Return all of them by name."""
    found = yaml.safe_load(_FILE.read_text())
    return {name: Story(name, **fields) for name, fields in found.items()}


def topology(story: Story | None = None) -> Topology:
    """Return the network of the demonstration, for whichever routers are on the PATH."""
    document = yaml.safe_load(NETWORK.read_text())
    if story is not None:
        document = changed(document, story.change) | {"stories": {story.name: story.do}}
    if (program := program_on_path()) is not None:
        document["program"] = program
    return load.made(document, Source(NETWORK.name)).topology


def changed(value: Json, change: Json) -> Json:
    """Return the value with the keys of the change in place of its own, at any depth."""
    deeper = {
        key: changed(value[key], new)
        for key, new in change.items()
        if isinstance(new, dict) and isinstance(value.get(key), dict)
    }
    return {**value, **change, **deeper}
