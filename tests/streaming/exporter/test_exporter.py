"""The exporter's counters: exact over repeats, replays, revisions and restarts."""

from __future__ import annotations

from typing import Any

import pytest
from made_counts import Made
from made_rows import LENGTH, SECOND, START, live, window

from collectors.contract.events import Event
from collectors.contract.window_rows import check_window
from streaming.exporter.core import FORGET_NS, MAX_PATHS, VANISH_NS
from streaming.exporter.moves import moves_between


@pytest.fixture
def made() -> Made:
    return Made()


def test_every_class_and_reason_is_there_from_0_on(made: Made) -> None:
    """Before the first row a configured path has all its counters, at 0."""
    assert made.values("path_messages_total") == {
        'class="received"': 0,
        'class="refused"': 0,
        'class="lost"': 0,
        'class="unobserved"': 0,
    }
    assert made.values("path_unsent_messages_total") == {
        'reason="no_credit"': 0,
        'reason="no_connection"': 0,
        'reason="guard"': 0,
        'reason="stalled"': 0,
    }
    assert len(made.values("path_reclassified_messages_total")) == 9
    assert made.values("path_slo_messages_total") == {'slo="delivery"': 0, 'slo="latency"': 0}
    assert made.value("exporter_accounting_errors_total") == 0


def test_counts_revision_0_and_not_its_repeats(made: Made) -> None:
    """A window counts once, however often its row comes and whatever comes after it."""
    rows = [window(number=0, lost=3, refused=2), window(number=1, unobserved=4)]
    made.feed(*rows, *rows, rows[0])
    assert made.value("path_sent_messages_total") == 109
    assert made.values("path_messages_total") == {
        'class="received"': 100,
        'class="refused"': 2,
        'class="lost"': 3,
        'class="unobserved"': 4,
    }
    assert made.values("path_windows_total") == {'result="complete"': 1, 'result="incomplete"': 1}
    assert made.value("exporter_rows_total", 'topic="windows",result="repeat"') is None
    assert made.value("exporter_rows_total", 'result="repeat",topic="windows"') == 3


def test_revisions_feed_reclassified_and_nothing_else(made: Made) -> None:
    """Classes stay as they were at first finality; a later revision tells the whole move since then."""
    made.feed(
        window(number=0, lost=3),
        window(number=0, lost=2, values_ns=[2_000_000] * 51, revision=1, moves={"lost>received": 1}, late=1),
        window(number=0, values_ns=[2_000_000] * 53, revision=2, moves={"lost>received": 3}, late=3),
        window(number=0, values_ns=[2_000_000] * 53, revision=2, moves={"lost>received": 3}, late=3),
        window(number=0, lost=2, values_ns=[2_000_000] * 51, revision=1, moves={"lost>received": 1}, late=1),
    )
    assert made.value("path_messages_total", 'class="lost"') == 3
    assert made.value("path_sent_messages_total") == 53
    assert made.value("path_reclassified_messages_total", 'from="lost",to="received"') == 3
    assert made.value("path_late_messages_total") == 3
    assert made.value("path_window_messages", 'class="lost"') == 0
    assert made.value("exporter_rows_total", 'result="repeat",topic="windows"') == 2


def test_a_message_that_moves_twice_is_told_as_two_moves() -> None:
    """Revisions tell where revision 0's messages are now; each step starts where they were last."""
    assert moves_between({}, {"lost>unobserved": 5}) == {"lost>unobserved": 5}
    assert moves_between({"lost>unobserved": 5}, {"lost>unobserved": 2, "lost>received": 3}) == {
        "unobserved>received": 3
    }
    assert moves_between({"lost>unobserved": 5}, {}) == {"unobserved>lost": 5}
    assert moves_between({}, {"none>lost": 2}) == {"none>lost": 2}
    assert moves_between({"lost>received": 2}, {"lost>received": 2, "unobserved>received": 1}) == {
        "unobserved>received": 1
    }


def test_revisions_of_windows_not_counted_here_are_left_out(made: Made) -> None:
    """Of windows before the first one counted, or made by other rules, nothing is reclassified."""
    other = window(number=3, revision=1, rules="ffffffff", moves={"lost>received": 1})
    before = window(number=1, revision=1, moves={"lost>received": 1})
    made.feed(window(number=3, lost=1), before, other, window(number=9, revision=1))
    assert sum(made.values("path_reclassified_messages_total").values()) == 0
    assert made.value("exporter_rows_total", 'result="old",topic="windows"') == 3


def test_rows_of_other_rules_do_not_count_a_stretch_twice(made: Made) -> None:
    """A job started anew with other rules writes its windows again; each stretch of time counts once."""
    made.feed(window(number=0), window(number=1))
    made.feed(*(window(number=n, rules="ffffffff") for n in range(3)))
    assert made.value("path_sent_messages_total") == 150


def test_latencies_are_counted_in_the_catalogues_buckets(made: Made) -> None:
    """Buckets are cumulative and from the histogram in the row, sum and count from the row itself."""
    made.feed(window(values_ns=[900_000, 3_000_000, 3_000_000, 40_000_000, 70 * SECOND]))
    found = made.values("path_response_latency_seconds_bucket")
    assert found['le="0.001"'] == 1
    assert found['le="0.0025"'] == 1
    assert found['le="0.005"'] == 3
    assert found['le="0.05"'] == 4
    assert found['le="30.0"'] == 4
    assert found['le="+Inf"'] == 5
    assert made.value("path_response_latency_seconds_count") == 5
    assert made.value("path_response_latency_seconds_sum") == pytest.approx(70.0469, abs=1e-6)
    assert made.values("path_service_latency_seconds_bucket") == {}


def test_objectives_count_from_the_histogram(made: Made) -> None:
    """Good is what arrived, or arrived in time, to the bound; unobserved messages count for neither side."""
    made.feed(
        window(values_ns=[1_000_000] * 89 + [5_000_000] + [6_000_000] * 5, lost=2, refused=1, unobserved=7)
    )
    assert made.values("path_slo_messages_total") == {'slo="delivery"': 98, 'slo="latency"': 98}
    assert made.values("path_slo_good_messages_total") == {'slo="delivery"': 95, 'slo="latency"': 90}
    assert made.values("path_slo_objective_ratio") == {'slo="delivery"': 0.999, 'slo="latency"': 0.99}
    assert made.values("path_slo_bound_seconds") == {'slo="latency"': 0.005}


def test_maintenance_is_left_out_of_objectives(made: Made) -> None:
    """A window that touches a marked stretch of this path counts, but not for its objectives."""
    made.exporter.apply_event(Event(START + SECOND, START + 2 * SECOND, "maintenance", ("east-*",), "cable"))
    made.exporter.apply_event(Event(START, START + 90 * SECOND, "maintenance", ("other",), "cable"))
    made.exporter.apply_event(Event(START, START + 90 * SECOND, "deploy", (), "new version"))
    made.feed(window(number=0, lost=5), window(number=1))
    assert made.value("path_sent_messages_total") == 105
    assert made.value("path_slo_messages_total", 'slo="delivery"') == 50
    assert made.value("path_maintenance") == 0
    made.now_ns = START + SECOND
    assert made.value("path_maintenance") == 1


def test_events_are_told_while_they_go_on_and_shortly_after(made: Made) -> None:
    """A moment lasts a quarter of a minute, for a scrape to see it; maintenance ends when it is over."""
    made.exporter.apply_event(Event(START, None, "fault", (), 'router "B" killed'))
    made.exporter.apply_event(Event(START, START + 10 * SECOND, "maintenance", (), "cable"))
    made.now_ns = START
    cut, cable = 'kind="fault",text="router \\"B\\" killed"', 'kind="maintenance",text="cable"'
    assert made.values("event_active") == {cut: 1, cable: 1}
    made.now_ns = START + 11 * SECOND
    assert made.values("event_active") == {cut: 1}
    made.now_ns = START + 16 * SECOND
    assert made.values("event_active") == {}


def test_an_action_is_told_until_its_end(made: Made) -> None:
    """It goes on until it is told again with its end; one that never is, for a day."""
    begun = Event(START, None, "fault", (), "router B killed", "kill", "B")
    made.exporter.apply_event(begun)
    made.now_ns = START + 600 * SECOND
    assert made.values("event_active") == {'kind="fault",text="router B killed"': 1}
    made.now_ns = START + 24 * 3_600 * SECOND
    assert made.values("event_active") == {}
    made.now_ns = START + 600 * SECOND
    made.exporter.apply_event(Event(START, made.now_ns, "fault", (), "router B down", "kill", "B"))
    made.exporter.apply_event(begun)
    assert made.values("event_active") == {'kind="fault",text="router B down"': 1}
    made.now_ns += 16 * SECOND
    assert made.values("event_active") == {}


def test_books_that_do_not_balance_are_counted(made: Made) -> None:
    """Each row is checked: classes against sent, outcomes against classes, latencies against received."""
    made.feed(window(number=0))
    assert made.value("exporter_accounting_errors_total") == 0
    made.feed(window(number=1, sent=51))
    assert made.value("exporter_accounting_errors_total") == 1
    made.feed(window(number=2, lost=1, lost_detached=2))
    assert made.value("exporter_accounting_errors_total") == 2
    made.feed(window(number=3, response=None))
    assert made.value("exporter_accounting_errors_total") == 3
    made.feed(window(number=4, refused=1) | {"refused": {"rejected": 0, "released": 0, "modified": 0}})
    assert made.value("exporter_accounting_errors_total") == 4


@pytest.mark.parametrize(
    "field",
    [
        {"sent": "50"},
        {"sent": None},
        {"classes": {"received": 1.5}},
        {"response": 5},
        {"flags": "x"},
        {"sent": True},
    ],
)
def test_a_row_of_wrong_types_counts_nothing(made: Made, field: dict[str, object]) -> None:
    """A row that is half right is not half counted; the same window counts when its right row comes."""
    with pytest.raises(ValueError, match="is not"):
        made.exporter.apply_window(check_window({**window(), **field}))
    assert made.value("path_sent_messages_total") == 0
    made.feed(window())
    assert made.value("path_sent_messages_total") == 50


def test_a_histogram_that_cannot_be_read_counts_nothing(made: Made) -> None:
    """The histogram is decoded before anything is counted."""
    bad = window()
    assert bad["response"] is not None
    bad["response"]["hdr"] = "HISTFAAAAB=="
    with pytest.raises(ValueError, match="istogram"):
        made.exporter.apply_window(bad)
    made.feed(window())
    assert made.value("path_sent_messages_total") == 50


def test_a_path_nobody_tells_of_vanishes(made: Made) -> None:
    """Series of a path that is not configured go five minutes after its last row; its counters stay known."""
    made.feed(window("guest"))
    assert 'path="guest"' in made.text()
    made.now_ns += VANISH_NS + 1
    assert 'path="guest"' not in made.text()
    assert 'path="east-west"' in made.text()
    made.feed(window("guest"), window("guest", 1))
    assert 'inflight_path_sent_messages_total{mesh="prod",path="guest"} 100' in made.text()
    made.now_ns += FORGET_NS + 1
    made.text()
    assert list(made.exporter.paths) == ["east-west"]


def test_names_cannot_break_the_exposition(made: Made) -> None:
    """Quotes, backslashes and line ends in a name stay inside its label."""
    made.feed(window('a"b\\c\nd} 1'))
    assert 'path="a\\"b\\\\c\\nd} 1"' in made.text()
    assert all(line.startswith(("#", "inflight_")) for line in made.text().splitlines())


def test_paths_are_bounded(made: Made) -> None:
    """More paths than anyone has are left out and counted, and the others go on."""
    for number in range(MAX_PATHS):
        made.exporter.paths.setdefault(f"p{number}", made.exporter.new_path(f"p{number}"))
    made.feed(window("one more"), window())
    assert made.value("exporter_rows_total", 'result="full",topic="windows"') == 1
    assert made.exporter.paths["east-west"].counters.counts["sent"] == 50


def test_live_rows_are_shown_and_the_last_wins(made: Made) -> None:
    """Pending, suspect and the last receipt are those of the newest live row."""
    made.exporter.apply_live(live(number=3, suspect=4))
    made.exporter.apply_live(live(number=2, pending=7))
    assert made.value("path_pending_messages") == 7
    assert made.value("path_suspect_messages") == 0
    assert made.value("path_last_received_timestamp_seconds") == (START + 2 * LENGTH) / 1e9 + 2.9


def test_freshness_is_from_received_to_visible(made: Made) -> None:
    """Each new last receipt is one observation; the same again is none, nor is what is read to catch up."""
    made.now_ns = START + 3_300_000_000
    made.exporter.apply_live(live())
    made.exporter.apply_live(live())
    made.exporter.catching_up = True
    made.exporter.apply_live(live(number=1))
    assert made.value("exporter_freshness_seconds_count") == 1
    assert made.value("exporter_freshness_seconds_sum") == pytest.approx(0.4)


def test_an_outage_runs_before_its_windows_are_final(made: Made) -> None:
    """Missing messages and nothing received since tell an outage at once, if a receiver observes."""
    receiver = {"role": "receiver", "name": "west-1", "run": "11" * 8, "link": "attached"}
    stall: dict[str, Any] = {
        "last_received_ns": START,
        "oldest_pending_ns": START,
        "suspect": 20,
        "ends": [{**receiver, "frontier_ns": START + 12 * SECOND}],
    }
    made.exporter.apply_live(live(**stall))
    assert made.value("path_outage_seconds") == 12
    made.exporter.apply_live(live(**{**stall, "ends": []}))
    assert made.value("path_outage_seconds") == 0
    made.exporter.apply_live(live(outage_since_ns=START, at_ns=START + 40 * SECOND))
    assert made.value("path_outage_seconds") == 40
