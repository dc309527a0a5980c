"""Management replies read into rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.router import replies, schema
from collectors.router.replies import BadReply, Refused


def body(names: list[Any], *results: Any) -> dict[str, Any]:
    return {"attributeNames": names, "results": [*results]}


def test_attribute_names_decide_and_not_positions() -> None:
    """A reply may leave attributes out, add `name`, and use an order of its own."""
    table = replies.parse(
        schema.CONNECTOR, body(["port", "name", "connectionStatus"], ["5671", "to-A", "SUCCESS"])
    )
    assert table.rows == [
        {
            "port": "5671",
            "name": "to-A",
            "status": "SUCCESS",
            "host": None,
            "role": None,
            "cost": None,
            "message": None,
        }
    ]
    assert table.absent == {"host", "role", "cost", "message"}
    assert not table.faults


def test_what_is_wrong_stays_where_it_is() -> None:
    """A bad value becomes None, a bad row is left out, both are counted, the other rows hold."""
    table = replies.parse(
        schema.CONNECTOR,
        body(["name", "cost"], ["a", "much"], ["b"], [None, 1], ["c", 3], "d", ["e", True], ["f", 2**70]),
    )
    assert [(row["name"], row["cost"]) for row in table.rows] == [
        ("a", None),
        ("c", 3),
        ("e", None),
        ("f", None),
    ]
    assert table.came == 7
    assert table.faults == {"value_of_wrong_type": 3, "row_of_wrong_length": 2, "row_without_key": 1}


def test_unknown_attributes_are_counted_and_left_out() -> None:
    """What was not asked for is not mistaken for something else."""
    table = replies.parse(schema.CONNECTOR, body(["name", "shoeSize", "type"], ["a", 44, "t"]))
    assert table.faults == {"unknown_attribute": 1}
    assert table.rows[0]["cost"] is None


@pytest.mark.parametrize(
    "wrong", [None, [], "text", {}, {"attributeNames": ["name"]}, body(["cost"], [1]), {"results": []}]
)
def test_a_reply_of_another_shape_is_refused(wrong: Any) -> None:
    """No map of names and results, or one without the key, is no reply."""
    with pytest.raises(BadReply) as caught:
        replies.parse(schema.CONNECTOR, wrong)
    assert caught.value.reason == "shape"


def test_statuses() -> None:
    """Only 200 is good; another number is an answer, none at all is a bad reply."""
    replies.check_status({"statusCode": 200})
    with pytest.raises(Refused, match="status 500: oops"):
        replies.check_status({"statusCode": 500, "statusDescription": "oops"})
    for wrong in (None, {}, {"statusCode": "200"}, {"statusCode": True}):
        with pytest.raises(BadReply, match="no statusCode"):
            replies.check_status(wrong)


def test_names_that_cannot_be_encoded_do_not_break_the_exposition() -> None:
    """A lone surrogate is replaced, a long text cut."""
    assert replies.encodable("a\ud800b") == "a?b"
    assert replies.encodable("größe") == "größe"
    assert len(replies.encodable("x" * 9999)) == 512


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(
    names=st.lists(st.sampled_from([c.remote_name for c in schema.LINK.attributes]) | JUNK, max_size=6),
    found=JUNK,
)
def test_nothing_that_comes_raises_anything_else(names: list[Any], found: Any) -> None:
    """Whatever a reply holds, it gives rows of the right types or a BadReply."""
    try:
        table = replies.parse(schema.LINK, {"attributeNames": names, "results": found})
    except BadReply:
        return
    for row in table.rows:
        assert isinstance(row["identity"], str)
        for column in schema.LINK.attributes:
            value = row[column.name]
            if value is not None and column.type in {"count", "number"}:
                assert isinstance(value, int)


def test_the_table_of_attributes_matches_the_captures(capture_bodies: Any) -> None:
    """Every attribute asked for is one that a real router of the flavour has, save those only others have."""
    only_elsewhere = {
        "dispatch": {"residentMemoryUsage"},
        "skupper": {
            *("linkRouteCount", "containerCount", "waypoint", "ingressPhase", "egressPhase"),
        },
    }
    totals = {column.remote_name for column in schema.METRICS.attributes} - {"id", "", "mode"}
    for flavour in schema.FLAVOURS.values():
        for entity in flavour.entities:
            names = capture_bodies(flavour.prefix + entity.type)["attributeNames"]
            missing = {column.remote_name for column in entity.attributes} - {*names}
            if (flavour.name, entity) == (
                "skupper",
                schema.ROUTER,
            ):  # of version 2; 3 has them in routerMetrics
                assert missing == {*totals} - {"version"}
                continue
            assert missing <= only_elsewhere[flavour.name], entity
