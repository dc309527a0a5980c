"""A path's state in a word and a sentence, and the network around it."""

from __future__ import annotations

from typing import Any

import pytest
from made_counts import Made
from made_rows import LENGTH, SECOND, START, live, window

from collectors.contract.events import Event
from collectors.contract.telemetry import Telemetry
from collectors.contract.window_rows import CLASSES
from streaming.exporter import path_state
from streaming.exporter.page_data import snapshot
from streaming.states import BY_WORD, STATES

NOW = 12  # the window that is open


@pytest.fixture
def made() -> Made:
    found = Made()
    found.now_ns = START + NOW * LENGTH + 3 * SECOND
    return found


def state(made: Made) -> tuple[str, str]:
    (path,) = snapshot(made.exporter)["paths"]
    assert path["state"] in BY_WORD
    return path["state"], path["state_text"]


def test_waiting_until_there_is_data(made: Made) -> None:
    """A configured path is there, and says that nothing is known of it."""
    assert state(made) == ("waiting", "no data yet")


def test_ok_when_all_arrives_in_time(made: Made) -> None:
    """Nothing to say."""
    made.feed(window(number=NOW - 3))
    made.exporter.apply_live(live(number=NOW))
    assert state(made) == ("ok", "")


def test_losing_for_a_minute_and_not_longer(made: Made) -> None:
    """A loss is told while its window is among those of the last minute; a revision takes it back."""
    made.feed(window(number=0, lost=3))
    assert state(made) == ("losing", "3 lost in the last minute")
    made.feed(window(number=0, values_ns=[2_000_000] * 53, revision=1, moves={"lost>received": 3}))
    assert state(made) == ("ok", "")
    made.feed(window(number=1, lost=1), window(number=12))
    assert state(made)[0] == "losing"
    made.feed(window(number=13))
    assert state(made) == ("ok", "")


def test_silent_when_nobody_tells_of_it(made: Made) -> None:
    """With no row for half a minute the figures are of the past, whatever they say."""
    made.feed(window(number=0, lost=1))
    made.now_ns += 45 * SECOND
    assert state(made) == ("silent", "no data for 45 s")


def test_the_worst_is_told_first(made: Made) -> None:
    """Outage before behind, behind before suspect, suspect before refused, refused before blind."""
    made.feed(window(number=NOW, refused=2, unobserved=1))
    end: dict[str, Any] = {"role": "sender", "name": "a", "run": "0" * 16, "frontier_ns": made.now_ns}
    assert state(made) == ("refused", "2 refused in the last minute")
    made.exporter.apply_live(live(number=NOW, suspect=5))
    assert state(made) == ("suspect", "5 missing, not final yet")
    made.exporter.apply_live(
        live(number=NOW, suspect=5, behind_ns=4 * SECOND, ends=[{**end, "link": "detached"}])
    )
    assert state(made) == ("behind", "not sent for 4 s, sender detached")
    made.exporter.apply_live(live(number=NOW, outage_since_ns=START, behind_ns=4 * SECOND))
    assert state(made) == ("outage", "nothing delivered for 63 s")
    made.feed(window(number=NOW + 1, unobserved=7))
    made.exporter.apply_live(live(number=NOW + 1))
    assert state(made)[0] == "refused"


def test_slow_against_its_objective(made: Made) -> None:
    """More of the last minute's messages after the bound than the share of 99 % allows."""
    fast, late = [1_000_000], [9_000_000]
    made.feed(window(number=0, values_ns=fast * 98 + late * 2))
    assert state(made) == ("slow", "2 of 100 over 5 ms in the last minute, 1 allowed")
    made.feed(window(number=1, values_ns=fast * 100))
    assert state(made) == ("ok", "")
    made.feed(window(number=2, values_ns=fast * 90), window(number=3, values_ns=fast * 48 + late * 4))
    assert state(made) == ("slow", "6 of 342 over 5 ms in the last minute, 4 allowed")


def test_not_slow_near_its_bound(made: Made) -> None:
    """A p99 of 97 % of the bound keeps the objective, and one message after the bound breaks none."""
    made.feed(window(number=0, values_ns=[4_850_000] * 200))
    assert state(made) == ("ok", "")
    made.feed(window(number=1, values_ns=[4_850_000] * 49 + [9_000_000]))
    assert state(made) == ("ok", "")


def test_what_was_lost_is_not_slow(made: Made) -> None:
    """It did not come in time either, which the budget counts; the state says what happened to it."""
    made.feed(window(number=0, refused=20))
    assert state(made) == ("refused", "20 refused in the last minute")


def test_in_maintenance_whatever_else_is_true(made: Made) -> None:
    """The reason tells the state that it would be in otherwise."""
    made.exporter.apply_event(
        Event(made.now_ns - 1, made.now_ns + SECOND, "maintenance", ("east-*",), "cable")
    )
    assert state(made) == ("maintenance", "waiting: no data yet")
    made.feed(window(number=NOW - 1))
    assert state(made) == ("maintenance", "")
    made.feed(window(number=NOW, lost=2))
    assert state(made) == ("maintenance", "losing: 2 lost in the last minute")
    made.now_ns += SECOND
    assert state(made) == ("losing", "2 lost in the last minute")


def test_each_state_of_the_table_can_be_told() -> None:
    """A state that nothing evaluates would stand in all legends and never be seen."""
    by_time = {"maintenance", "waiting", "silent", "ok"}
    assert path_state.WORDS_BY_ROWS | by_time == BY_WORD.keys()
    assert {state.counts for state in STATES} == {*CLASSES, None} - {"received"}
    assert len({state.rank for state in STATES}) == len(STATES)


def put(
    made: Made, target: str, entity: str, rows: list[dict[str, Any]], poll: int = 1, part: int = 1
) -> None:
    made.exporter.apply_router(
        Telemetry("here", "prod", target, entity, made.now_ns, 5 * SECOND, poll, rows, part=part, parts=2)
    )


def test_routers_and_links_with_their_backlog(made: Made) -> None:
    """A link's backlog and rate are those of both directions, whose rows may come in several records."""
    edges = [{"kind": "edge", "source": "A", "target": "B", "up": True, "cost": 3}]
    put(made, "", "mesh", [{"kind": "router", "router": name, "up": True} for name in "AB"] + edges)
    link = {"peer": "B", "direction": "out", "type": "inter-router", "undelivered": 2, "unsettled": 1}
    control = {**link, "type": "router-control", "undelivered": 99}
    put(made, "A", "link", [link | {"deliveries_added": 10}, control])
    put(made, "A", "link", [link | {"peer": "C", "deliveries_added": 20}], part=2)
    put(made, "B", "link", [link | {"peer": "A", "undelivered": 5, "deliveries_added": 5}])
    view = snapshot(made.exporter)
    (edge,) = view["edges"]
    assert (edge["undelivered"], edge["unsettled"], edge["rate"], edge["cost"]) == (7, 2, 3.0, 3)
    assert [(r["router"], r["undelivered"], r["rate"]) for r in view["routers"]] == [
        ("A", 4, 6.0),
        ("B", 5, 1.0),
    ]


def test_a_dead_router_shows_nothing_of_its_past(made: Made) -> None:
    """Its figures go when it goes, and a mesh not heard of is stale."""
    put(made, "A", "link", [{"type": "endpoint", "undelivered": 5, "deliveries_added": 10}])
    put(made, "", "mesh", [{"kind": "router", "router": "A", "up": False, "reason": "timeout"}], poll=2)
    (router,) = snapshot(made.exporter)["routers"]
    assert (router["up"], router["reason"], router["undelivered"], router["rate"]) == (
        False,
        "timeout",
        0,
        None,
    )
    assert not router["stale"]
    made.now_ns += 21 * SECOND
    (router,) = snapshot(made.exporter)["routers"]
    assert router["stale"]
    made.now_ns += 900 * SECOND
    assert snapshot(made.exporter)["routers"] == []


def test_queues_of_a_dead_broker_are_stale(made: Made) -> None:
    """What is shown of them is of the past, and says so."""

    def broker(entity: str, row: dict[str, Any], poll: int) -> None:
        made.exporter.apply_broker(
            Telemetry("here", "prod", "artemis", entity, made.now_ns, 10 * SECOND, poll, [row])
        )

    broker("broker", {"up": True, "product": "artemis"}, 1)
    queue = {"queue": "orders", "messages": 7, "consumers": 1, "added_added": 20, "acknowledged_added": 10}
    broker("queue", queue, 1)
    (shown,) = snapshot(made.exporter)["queues"]
    assert (shown["messages"], shown["in_rate"], shown["out_rate"], shown["stale"]) == (7, 2.0, 1.0, False)
    broker("broker", {"up": False, "reason": "refused"}, 2)
    (shown,) = snapshot(made.exporter)["queues"]
    assert shown["stale"]


def test_links_of_a_dead_broker_are_stale(made: Made) -> None:
    """As its queues; what a broker does not tell of a link is shown as unknown, not as 0."""

    def broker(entity: str, row: dict[str, Any], poll: int) -> None:
        made.exporter.apply_broker(
            Telemetry("here", "prod", "artemis", entity, made.now_ns, 10 * SECOND, poll, [row])
        )

    link = {"kind": "bridge", "link": "b", "to": "two", "queue": "orders", "state": "up", "up": True}
    counts = {"messages": 7, "delivering": 5, "acknowledged": 100, "acknowledged_added": 20}
    broker("broker_link", link | counts, 1)
    (shown,) = snapshot(made.exporter)["broker_links"]
    names = ("broker", "link", "state", "up", "messages", "delivering", "rate", "stale")
    assert [shown[name] for name in names] == ["artemis", "b", "up", True, 7, 5, 2.0, False]
    broker("broker_link", link | {"messages": None, "acknowledged": None, "acknowledged_added": 0}, 2)
    (shown,) = snapshot(made.exporter)["broker_links"]
    assert [shown[name] for name in names] == ["artemis", "b", "up", True, None, None, None, False]
    broker("broker", {"up": False, "reason": "refused"}, 3)
    (shown,) = snapshot(made.exporter)["broker_links"]
    assert shown["stale"]


def test_rows_of_routers_that_make_no_sense_harm_nothing(made: Made) -> None:
    """Missing and wrong values read as nothing."""
    put(
        made,
        "",
        "mesh",
        [{}, {"kind": "router"}, {"kind": "edge", "cost": "x"}, {"kind": "difference", "names": 5}],
    )
    put(made, "", "link", [{"undelivered": "many", "type": 7}])
    view = snapshot(made.exporter)
    assert view["routers"][0]["router"] == ""
    assert view["edges"][0]["cost"] is None
