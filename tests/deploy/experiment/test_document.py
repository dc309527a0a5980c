"""Values put into a plan's document by paths."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from deploy.experiment.document import changed, merged

DOCUMENT: dict[str, Any] = {
    "network": {
        "topology": {
            "routers": {"A": {}, "B.1": {"workers": 2}},
            "links": [{"from": "B.1", "to": "A", "cost": 3}],
        }
    },
    "load": {"size": "256B", "paths": {"x/y.z": {"rate": "1/s"}}},
}

PUT = {
    "a value that is there": ("load.size", "4kB", ("load", "size")),
    "a value that is not there": ("load.credit", 7, ("load", "credit")),
    "below what is not there": ("phases.steps.each", "3s", ("phases", "steps", "each")),
    "a topology's, by the short way": (
        "topology.routers.A.workers",
        4,
        ("network", "topology", "routers", "A", "workers"),
    ),
    "a name with a dot": (
        "topology.routers.B.1.workers",
        4,
        ("network", "topology", "routers", "B.1", "workers"),
    ),
    "a path with a dot": ("load.paths.x/y.z.rate", "2/s", ("load", "paths", "x/y.z", "rate")),
    "a place in a list": ("topology.links.0.cost", 9, ("network", "topology", "links", 0, "cost")),
    "a link by its ends": ("topology.links.A--B.1.cost", 9, None),
    "a link by one with no dot": (
        "topology.links.0.redundancy",
        2,
        ("network", "topology", "links", 0, "redundancy"),
    ),
}


def at(document: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        document = document[key]
    return document


@pytest.mark.parametrize("name", [name for name, (_, _, place) in PUT.items() if place])
def test_a_value_is_put_at_its_path(name: str) -> None:
    """And nothing else changes, nor the document that was given."""
    path, value, place = PUT[name]
    assert place is not None
    before = copy.deepcopy(DOCUMENT)
    found = changed(DOCUMENT, {path: value})
    assert at(found, place) == value
    assert before == DOCUMENT


def test_a_link_is_found_by_its_ends() -> None:
    """In either order."""
    document = {"network": {"topology": {"links": [{"from": "A", "to": "B"}, {"from": "C", "to": "B"}]}}}
    for name in ("B--C", "C--B"):
        found = changed(document, {f"topology.links.{name}.cost": 5})
        assert found["network"]["topology"]["links"] == [
            {"from": "A", "to": "B"},
            {"from": "C", "to": "B", "cost": 5},
        ]


def test_a_mapping_is_merged_into_what_is_there() -> None:
    """So a level may name only what differs; a list takes the place of a list."""
    found = changed(DOCUMENT, {"topology.routers": {"A": {"workers": 1}}, "topology.links": []})
    assert found["network"]["topology"] == {
        "routers": {"A": {"workers": 1}, "B.1": {"workers": 2}},
        "links": [],
    }


@pytest.mark.parametrize(
    "path", ["blub", "seed", "topology.links.X--Y.cost", "topology.links.5.cost", "load.size.x"]
)
def test_a_path_that_is_none_is_refused(path: str) -> None:
    """With its name."""
    with pytest.raises(ValueError, match=path.replace(".", r"\.")):
        changed(DOCUMENT, {path: 1})


def test_a_form_replaces_what_it_names_at_any_depth() -> None:
    value = {"phases": {"warm-up": "1m", "steady": "1h"}, "repetitions": 5}
    assert merged(value, {"phases": {"steady": "5s"}, "repetitions": 1}) == {
        "phases": {"warm-up": "1m", "steady": "5s"},
        "repetitions": 1,
    }


def test_null_takes_a_key_away() -> None:
    """At any depth, whether it is there or not; what is beside it stays."""
    value = {"a": {"b": 1, "c": {"d": 2}}, "e": 3}
    change = {"a": {"b": None, "c": {"f": 4, "x": None}}, "g": None}
    assert merged(value, change) == {"a": {"c": {"d": 2, "f": 4}}, "e": 3}
