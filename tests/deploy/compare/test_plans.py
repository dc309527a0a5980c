"""Whether two plans ask the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.compare.plans import differences, refusal

PLAN = {
    "version": 1,
    "name": "restart",
    "says": "What is lost?",
    "seed": 7,
    "repetitions": 6,
    "network": {"topology": {"name": "line", "program": "qdrouterd", "routers": {"A": {}, "B": {}}}},
    "load": {"rate": "100/s", "size": "256B", "paths": [{"from": "A", "to": "B"}]},
    "phases": {"warm-up": "5s", "steady": "60s"},
}


def changed(**places: Any) -> dict[str, Any]:
    """The plan with values at places; `__` stands between keys, None takes one away."""
    import copy  # noqa: PLC0415 -- one use

    plan: dict[str, Any] = copy.deepcopy(PLAN)
    for place, value in places.items():
        *way, last = place.split("__")
        inside = plan
        for key in way:
            inside = inside[key]
        if value is None:
            del inside[last]
        else:
            inside[last] = value
    return plan


@pytest.mark.parametrize(
    "free",
    [
        {"name": "other"},
        {"says": "Another question?"},
        {"seed": 8},
        {"seed": None},
        {"repetitions": 12},
        {"must": ["lost <= 0%"]},
        {"network__topology__program": "skrouterd"},
    ],
)
def test_what_may_differ(free: dict[str, Any]) -> None:
    """How it is called and repeated, its bounds, and the routers' program, which is what is compared."""
    assert differences(PLAN, changed(**free)) == []


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"load__rate": "200/s"}, "load.rate: 100/s in A, 200/s in B"),
        ({"load__size": None}, "load.size: 256B in A, nothing in B"),
        ({"phases__steady": "90s"}, "phases.steady: 60s in A, 90s in B"),
        ({"network__topology__routers": {"A": {}}}, "network.topology.routers.B: {} in A, nothing in B"),
        (
            {"load__paths": [{"from": "B", "to": "A"}]},
            'load.paths: [{"from": "A", "to": "B"}] in A, [{"from": "B", "to": "A"}] in B',
        ),
        ({"actions": [{"do": "kill"}]}, 'actions: nothing in A, [{"do": "kill"}] in B'),
    ],
)
def test_what_may_not(other: dict[str, Any], said: str) -> None:
    """Load, topology, phases, actions: named with both values, and in the refusal."""
    found = differences(PLAN, changed(**other))
    assert found == [said]
    assert said in refusal(found)
    assert refusal(found).endswith("run one plan on both")


def test_a_checkout_may_be_elsewhere() -> None:
    """A config of end points has its file's name; what it holds is not known here."""
    plans = [{"network": {"config": f"/home/{user}/plans/inflight.yaml"}} for user in "ab"]
    assert differences(*plans) == []
    assert differences(plans[0], {"network": {"config": "/home/a/plans/other.yaml"}}) != []


def test_many_differences_are_cut() -> None:
    """Ten are told, and how many more there are."""
    found = differences({}, {f"key{number}": number for number in range(30)})
    assert len(found) == 30
    assert "… and 20 more" in refusal(found)


_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=5), inside, max_size=3),
)


@given(st.dictionaries(st.text(max_size=5), _json, max_size=5))
def test_a_plan_equals_itself(plan: dict[str, Any]) -> None:
    """Whatever it holds."""
    assert differences(plan, plan) == []
