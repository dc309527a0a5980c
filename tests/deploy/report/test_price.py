"""What an event cost, against figures by hand and against all latencies as they were."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows import SECOND, START, window

from collectors.contract import window_rows
from collectors.contract.events import Event
from deploy.report import words
from deploy.report.model import Alert, Figures, Report, as_json
from deploy.report.price import price
from deploy.report.windows import Windows

FAST, SLOW = [2_000_000] * 50, [80_000_000] * 50


def at(seconds: float) -> int:
    return START + round(seconds * SECOND)


def fault(begin: float, end: float | None, paths: tuple[str, ...] = (), **fields: Any) -> Event:
    told = {"text": "router B down", "do": "kill", "what": "B"} | fields
    return Event(at(begin), None if end is None else at(end), "fault", paths, **told)


def report(rows: Sequence[Any], event: Event, **more: Any) -> Report:
    windows = Windows(0, 1 << 62)
    for row in rows:
        windows.add(window_rows.encode(row))
    return price(windows.by_path(), event, left_out=windows.left_out, **more)


def story(path: str = "east-west", count: int = 40, **changed: dict[str, Any]) -> list[Any]:
    """Windows of 5 s from the beginning on; `w12` changes the window of number 12."""
    return [window(path, number, **changed.get(f"w{number}", {})) for number in range(count)]


def test_by_hand() -> None:
    """A fault from 61 s to 74 s, the last bad window ends at 80 s; 30 s before are 300 messages in time."""
    rows = story(
        w12={"values_ns": FAST[:30], "lost": 15, "refused": 5, "outage_ns": 4 * SECOND},
        w13={"values_ns": [], "lost": 50, "outage_ns": 5 * SECOND},
        w14={
            "values_ns": FAST[:20],
            "unsent": {"no_credit": 0, "no_connection": 30, "guard": 0, "stalled": 0},
        },
        w15={"values_ns": SLOW, "stalled_ns": 2 * SECOND},
        w16={"values_ns": SLOW},
    )
    found = report(rows, fault(61, 74))
    assert (found.before.from_ns, found.before.until_ns) == (at(31), at(61))
    assert (found.during.from_ns, found.during.until_ns) == (at(61), at(80))
    assert (found.after.from_ns, found.after.until_ns) == (at(80), at(110))
    assert found.recovered_ns == at(80) - at(74)
    before, during, after = found.total_before, found.total_during, found.total_after
    assert before == Figures(
        6, 30 * SECOND, 300, 300, 0, 0, 0, 0, 0, 0, _up(2_000_000), _up(2_000_000), 2_000_000, {}
    )
    assert during is not None
    assert after is not None
    counts = (during.sent, during.received, during.refused, during.lost, during.unobserved, during.unsent)
    assert counts == (170, 100, 5, 65, 0, 30)
    assert during.windows == 4
    assert during.down_ns == (4 + 5 + 0 + 2) * SECOND
    assert (during.p50_ns, during.p99_ns, during.max_ns) == (_up(2_000_000), _up(80_000_000), 80_000_000)
    assert (after.windows, after.p50_ns, after.max_ns) == (6, _up(2_000_000), 80_000_000)
    (path,) = found.paths
    assert path.what == ("lost", "refused", "held back")
    assert words.answer(found) == (
        "router B down (13 s) touched 1 of 1 path; 65 lost, 5 refused and 30 never sent of 200 messages due;"
        " down for 11 s at the worst, on east-west; p99 2 ms before, 80 ms during;"
        " all clean again 6.0 s after its end."
    )


def _up(value_ns: int) -> int:
    """The upper end of the value's bucket, by the layout: 1,024 buckets between powers of two."""
    width = 1 << max(value_ns.bit_length() - 11, 0)
    return value_ns // width * width + width - 1


def test_nothing_happened() -> None:
    """A change that cost nothing says so, with what came, and invents no recovery."""
    found = report(story(), fault(61, 74))
    assert (found.recovered_ns, found.touched) == (None, ())
    assert words.answer(found) == (
        "router B down (13 s) cost nothing that was seen: 150 of 150 messages came on 1 path."
    )
    assert dict(words.facts(found))["recovered"] == "–"


def test_too_little_before() -> None:
    """20 s are no basis: no figures, and it is said."""
    found = report(story(w6={"values_ns": SLOW, "lost": 1}), fault(21, 34))
    assert found.total_before is None
    assert found.paths[0].before is None
    assert (
        "path east-west has less than 30 s of windows before the event (20 s at the most)" in found.notes[0]
    )
    assert "before" not in words.answer(found)
    assert words.column(found.total_before) == ["–"] * 10


def test_no_window_of_that_time() -> None:
    """What is not known is not told as nothing."""
    found = report(story(count=10), fault(1_000, 1_010))
    assert found.total_during is None
    assert (
        words.answer(found)
        == "What router B down (10 s) cost is not known: there are no windows of that time."
    )
    assert found.notes[-1].startswith("rows end 0 s after")
    assert words.path_cells(found.paths[0])[-1] == "not seen"
    assert words.answer(report([], fault(1, 2))).endswith("there are no windows of that time.")


@pytest.mark.parametrize(("end", "windows"), [(60.5, 1), (65, 1), (65.1, 2), (200, 28)])
def test_windows_at_the_edges_are_of_the_event(end: float, windows: int) -> None:
    """One that meets the event counts whole; one that ends where it begins does not."""
    found = report(story(count=60), fault(60, end))
    assert found.total_during is not None
    assert found.total_during.windows == windows
    assert found.total_before is not None
    assert found.total_before.windows == min(12, max(6, windows))  # there are no more


def test_before_is_no_longer_than_ten_minutes() -> None:
    """Of an event of an hour the ten minutes before it."""
    rows = [window(number=number, values_ns=FAST[:2]) for number in range(1_000)]
    found = report(rows, fault(1_000, 4_600))
    assert found.total_before is not None
    assert (found.total_before.windows, found.before.length_ns) == (120, 600 * SECOND)


def test_slower_and_by_another_way() -> None:
    """A delay loses nothing: the median is above the p99 of before; the way round has its messages."""
    rows = story(
        **{f"w{n}": {"routes": {"A>B>C": 50}} for n in (*range(12), *range(15, 40))},
        w12={"values_ns": SLOW, "routes": {"A>B>C": 10, "A>D>C": 40}},
        w13={"values_ns": SLOW, "routes": {"A>D>C": 50}},
        w14={"routes": {"A>D>C": 50}},
    )
    found = report(rows, fault(61, 74))
    assert found.paths[0].what == ("slower", "rerouted")
    assert found.recovered_ns is None
    assert list(words.rerouted(found)) == [("east-west", {"A>B>C": 300}, {"A>D>C": 140, "A>B>C": 10})]
    assert words.answer(found) == (
        "router B down (13 s) touched 1 of 1 path; all 150 messages came; p99 2 ms before, 80 ms during."
    )


def test_paths_that_were_not_touched_or_not_meant() -> None:
    """Each is told; of others only how many."""
    rows = [*story("a", w12={"lost": 2}), *story("b"), *story("other", w12={"lost": 9})]
    found = report(rows, fault(61, 64, ("a", "b")))
    assert [(path.path, path.what) for path in found.paths] == [("a", ("lost",)), ("b", ())]
    assert found.total_during is not None
    assert found.total_during.lost == 2
    assert "1 other paths are not among those that the event concerns" in found.notes


def test_an_event_whose_end_nobody_told() -> None:
    """It goes on until the newest row, and has not recovered."""
    found = report(story(count=30, w13={"lost": 2}), fault(61, None))
    assert (found.ended_ns, found.during.until_ns, found.recovered_ns) == (None, at(150), None)
    assert words.answer(found).endswith("its end was not told.")
    moment = report(story(count=30, w13={"lost": 2}), fault(66, None, do="", what=""))
    assert (moment.ended_ns, moment.recovered_ns) == (at(66), at(70) - at(66))


def test_it_never_recovered() -> None:
    """As far as is known, and no further than an hour."""
    rows = story(count=30, **{f"w{n}": {"lost": 1} for n in range(13, 30)})
    found = report(rows, fault(66, 70))
    assert (found.recovered_ns, found.during.until_ns) == (None, at(150))
    assert "not all clean again in what is known" in words.answer(found)
    rows = story(count=900, **{f"w{n}": {"lost": 1, "values_ns": FAST[:1]} for n in range(13, 900)})
    assert report(rows, fault(66, 70)).during.until_ns == at(70 + 3_600)


def test_what_was_held_back_is_of_the_event() -> None:
    """Sent after it was over, up to 20 s late: else the price would stand in the figures of after."""
    none = {"no_credit": 0, "no_connection": 0, "guard": 0, "stalled": 0}
    held = {"values_ns": [], "sent": 0, "due": 50, "unsent": none, "stalled_ns": 5 * SECOND}
    late = [round(n * 0.4 * SECOND) for n in range(1, 51)]  # all that was due since 65 s, sent from 80 s on
    rows = story(w13=held, w14=held, w15=held, w16={"values_ns": [*late, *FAST]})
    found = report(rows, fault(65, 80))
    assert found.recovered_ns == 0
    assert found.during.until_ns == at(85)
    assert found.total_during is not None
    assert found.total_after is not None
    assert (found.total_during.max_ns, found.total_after.max_ns) == (20 * SECOND, 2_000_000)
    assert found.total_during.down_ns == 15 * SECOND


def test_only_the_last_revision_counts() -> None:
    """In whatever order they come, and once."""
    late = window(number=13, values_ns=[*FAST, 9_000_000], revision=2, moves={"lost>received": 1})
    rows = [late, *story(w13={"lost": 1}), window(number=13, lost=1, revision=1), late]
    found = report(rows, fault(61, 74))
    assert found.total_during is not None
    assert (found.total_during.lost, found.total_during.received, found.touched) == (0, 151, ())


def test_where_rules_changed_nothing_counts_twice() -> None:
    """A replay by other rules made the same windows anew: the newer rules are taken."""
    rows = [*story(count=20), *[window(number=n, rules="ffffffff", lost=int(n == 20)) for n in range(10, 40)]]
    found = report(rows, fault(101, 104))
    assert found.total_during is not None
    assert (found.total_during.sent, found.total_during.lost) == (51, 1)
    assert found.total_before is not None
    assert found.total_before.windows == 6


def test_hostile_rows_are_counted_and_end_nothing() -> None:
    """What is no row, and whose figures do not add up."""
    windows = Windows(0, 1 << 62)
    bad = {**window(number=13), "sent": 7}
    broken = json.loads(window_rows.encode(window(number=14)))
    broken["response"]["hdr"] = "AAAA"
    for data in (b"", b"{", b"[" * 100_000, b"7", b"\xff", json.dumps(broken).encode(), b'{"v":2}'):
        windows.add(data)
    windows.add(window_rows.encode(bad))
    for row in story():
        windows.add(window_rows.encode(row))
    found = price(windows.by_path(), fault(61, 74), left_out=windows.left_out)
    assert found.left_out == {"rows that are none": 7, "rows whose figures do not add up": 1}
    assert found.total_during is not None
    assert found.total_during.sent == 150
    assert "left out: 7 rows that are none" in words.remarks(found)


def test_other_events_near_it_are_told() -> None:
    """Their trouble is in the figures; those of other times are not."""
    near = Event(at(50), at(62), "deploy", (), "orders 2.4")
    far = Event(at(1), at(2), "deploy", (), "long ago")
    event = fault(61, 74)
    found = report(story(), event, others=[far, near, event])
    assert found.others == (near,)
    assert any("orders 2.4" in remark for remark in words.remarks(found))


def test_trouble_of_before_and_of_the_monitor_is_told() -> None:
    """Else it would be put down to the event."""
    still = {"no_credit": 0, "no_connection": 0, "guard": 0, "stalled": 40}
    found = report(story(w9={"lost": 3}, w12={"unsent": still, "stalled_ns": 3 * SECOND}), fault(61, 74))
    assert found.touched == ()
    assert "path east-west has trouble before the event already: it did not do all of this" in found.notes
    assert "40 messages were not sent as the monitor's own process stood still" in found.notes
    assert found.total_during is not None
    assert (found.total_during.unsent, found.total_during.stood_still, found.total_during.down_ns) == (
        0,
        40,
        0,
    )


def test_detected_and_the_first_alert() -> None:
    """As they were told; what was not asked for is not told as none."""
    found = report(story(), fault(61, 74), detected_ns=1_240_000_000, alert=Alert("RouterDown", 15 * SECOND))
    facts = dict(words.facts(found))
    assert facts["detected"] == "after 1.2 s"
    assert facts["first alert"] == "after 15 s: RouterDown"
    assert facts["action"] == "kill B"
    asked = dict(words.facts(report(story(), fault(61, 74), alerts_asked=True)))
    assert asked["first alert"] == "none fired"
    never = dict(words.facts(report(story(), fault(61, 74))))
    assert (never["first alert"], never["detected"]) == ("not asked for: --prometheus URL", "–")


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_against_all_latencies(data: st.DataObject) -> None:
    """Percentiles, maxima and sums of before, during and after, by NumPy over each message."""
    length = data.draw(st.sampled_from([1, 2, 5]), label="window")
    latencies = st.lists(st.integers(1, 5_000_000_000), max_size=8)
    made: dict[str, list[tuple[int, list[int], int, int]]] = {}
    rows = []
    for path in "ab"[: data.draw(st.integers(1, 2), label="paths")]:
        first = data.draw(st.integers(0, 20), label="first")
        made[path] = []
        for number in range(first, first + data.draw(st.integers(1, 120 // length), label="windows")):
            values = data.draw(latencies)
            lost, refused = data.draw(st.sampled_from([(0, 0)] * 6 + [(2, 0), (0, 3)]))
            start = number * length
            made[path].append((start, values, lost, refused))
            fields = {"window_start_ns": at(start), "window_ns": length * SECOND}
            rows.append(window(path, values_ns=values, lost=lost, refused=refused, **fields))
    begin = data.draw(st.integers(0, 1_300), label="begin") / 10
    event = fault(begin, begin + data.draw(st.integers(0, 300), label="lasts") / 10)
    data.draw(st.randoms(use_true_random=False), label="order").shuffle(rows)
    found = report(rows, event)
    begin_ns, over_ns = event.at_ns, _over(made, event, length)
    assert found.during.until_ns == over_ns
    long_ns = min(max(over_ns - begin_ns, 30 * SECOND), 600 * SECOND)
    parts = {
        "before": lambda s: begin_ns - long_ns < at(s + length) <= begin_ns,
        "during": lambda s: at(s + length) > begin_ns and at(s) < over_ns,
        "after": lambda s: over_ns <= at(s) < over_ns + long_ns,
    }
    for name, inside in parts.items():
        kept = {path: [w for w in windows if inside(w[0])] for path, windows in made.items()}
        if name == "before":
            kept = {path: windows for path, windows in kept.items() if len(windows) * length >= 30}
        _same(getattr(found, f"total_{name}"), list(itertools.chain(*kept.values())))


def _over(made: dict[str, list[tuple[int, list[int], int, int]]], event: Event, length: int) -> int:
    """When the last path that it touched is clean again, by the definition; the event's end at the least."""
    until_ns = event.until_ns or 0
    ends = [max(until_ns, event.at_ns + 1)]
    for windows in made.values():
        told = [
            (at(s), at(s + length), bool(lost or refused), bool(values))
            for s, values, lost, refused in windows
        ]
        bad = [t for t in told if t[2] and t[1] > event.at_ns and t[0] < until_ns + 30 * SECOND]
        if bad:
            clean = [t for t in told if not t[2] and t[3] and t[1] > until_ns and t[0] >= bad[0][1]]
            over_ns = max(clean[0][0], until_ns) if clean else told[-1][1]
            for start, values, _, _ in windows:  # of the messages that it held back, all that were sent late
                if at(start + length) > over_ns:
                    if not values or at(start) - max(values) >= until_ns:
                        break
                    over_ns = at(start + length)
            ends.append(over_ns)
    return min(max(ends), until_ns + 3_600 * SECOND)


def _same(figures: Figures | None, windows: list[tuple[int, list[int], int, int]]) -> None:
    if not windows:
        assert figures is None
        return
    assert figures is not None
    values = np.sort(np.array([value for w in windows for value in w[1]], np.int64))
    lost, refused = sum(w[2] for w in windows), sum(w[3] for w in windows)
    assert (figures.received, figures.lost, figures.refused) == (len(values), lost, refused)
    assert figures.sent == len(values) + lost + refused
    assert figures.max_ns == (int(values[-1]) if len(values) else None)
    for told, hundredths in ((figures.p50_ns, 50), (figures.p99_ns, 99)):
        above = len(values) * (100 - hundredths) // 100
        if not above:
            assert told is None
            continue
        exact = int(values[len(values) - above - 1])
        assert told is not None
        assert exact <= told <= exact * (1 + 1 / 1_024) + 1


def test_json_has_all_of_it() -> None:
    """Times as integers of ns, the answer as in the text."""
    found = report(story(w12={"lost": 2}), fault(61, 64))
    value = json.loads(json.dumps(as_json(found, words.answer(found))))
    assert value["v"] == 1
    assert value["answer"] == words.answer(found)
    assert value["event"]["at_ns"] == at(61)
    assert value["total_during"]["lost"] == 2
    assert value["paths"][0]["path"] == "east-west"
