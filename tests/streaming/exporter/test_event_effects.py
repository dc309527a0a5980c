"""When trouble is seen after the begin of an event, and when it is over after its end."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_counts import Made
from made_rows import LENGTH, SECOND, START, live, window

from collectors.contract.events import Event
from streaming.exporter import event_effects
from streaming.exporter.event_effects import Effect, EventEffects
from streaming.exporter.page_data import snapshot
from streaming.exporter.window_verdict import verdict

NOTHING = {"no_credit": 0, "no_connection": 0, "guard": 0, "stalled": 0}
_CLEAN = window()


def row(path: str, number: int, **fields: Any) -> Any:
    """A window of 50 messages, all received; `classes` and others replace the row's."""
    fields["classes"] = {"received": 50, "refused": 0, "lost": 0, "unobserved": 0} | fields.get("classes", {})
    return {**_CLEAN, "path": path, "window_start_ns": START + number * LENGTH, **fields}


CLEAN: dict[str, Any] = {}
LOST: dict[str, Any] = {"classes": {"lost": 3}}
BLIND: dict[str, Any] = {"sent": 0, "classes": {"received": 0}}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (CLEAN, "clean"),
        (LOST, "bad"),
        ({"classes": {"refused": 1}}, "bad"),
        ({"unsent": NOTHING | {"no_connection": 1}}, "bad"),
        ({"unsent": NOTHING | {"no_credit": 1}}, "bad"),
        ({"unsent": NOTHING | {"guard": 1}}, "bad"),
        ({"stalled_ns": SECOND}, "bad"),
        ({"sent": 0, "stalled_ns": 5 * SECOND}, "bad"),
        (BLIND, "blind"),
        ({"classes": {"unobserved": 1}}, "blind"),
        ({"unsent": NOTHING | {"stalled": 9}}, "blind"),
        ({"unsent": NOTHING | {"stalled": 9}, "stalled_ns": SECOND}, "blind"),
        ({"unsent": NOTHING | {"stalled": 9}, "classes": {"lost": 1}}, "bad"),
        ({"complete": False, "flags": ["clock_unknown"], "duplicate": 4, "late": 2}, "clean"),
    ],
)
def test_what_a_window_says(fields: dict[str, Any], said: str) -> None:
    """Trouble of the network is bad, trouble of the monitor says nothing, and the rest is clean."""
    assert verdict(row("p", 0, **fields)) == said


def at(seconds: float) -> int:
    return START + round(seconds * SECOND)


def fault(begin: float, end: float | None = None, paths: tuple[str, ...] = (), text: str = "cut") -> Event:
    return Event(at(begin), None if end is None else at(end), "fault", paths, text, "kill", "B")


def test_a_fault_from_its_begin_to_the_last_clean_path() -> None:
    """Seen 1.5 s after its begin; of two paths one is clean from 15 s on, the other from 25 s."""
    effects = EventEffects()
    event = fault(6, 12.5)
    effects.add_event(event)
    effects.add_window(row("a", 0), at(5))
    effects.add_live("a", at(7), at(7.5), troubled=True)
    effects.add_live("b", at(8), at(8.5), troubled=True)
    assert effects.effect(event) == Effect(detected_ns=1_500_000_000)  # no window of its time is final
    for number in (1, 2):
        effects.add_window(row("a", number, **LOST), at(20))
    for number in (1, 2, 3, 4):
        effects.add_window(row("b", number, **LOST), at(30))
    assert effects.effect(event) == Effect(1_500_000_000, None, touched=2, recovered=0, lost=18)
    effects.add_window(row("a", 3), at(30))
    assert effects.effect(event) == Effect(1_500_000_000, None, touched=2, recovered=1, lost=18)
    effects.add_window(row("b", 5), at(40))
    assert effects.effect(event) == Effect(1_500_000_000, 12_500_000_000, touched=2, recovered=2, lost=18)


def test_an_event_without_effect_says_nothing() -> None:
    """Neither detected nor recovered: there is no 0 that somebody could take for a figure."""
    effects = EventEffects()
    for number in range(20):
        effects.add_window(row("a", number), at(5 * number))
        effects.add_live("a", at(5 * number), at(5 * number), troubled=False)
    assert effects.effect(fault(6, 12)) == Effect(touched=0, lost=0)
    assert effects.effect(fault(1_000, 1_002)) == Effect()  # what is not known is not nothing
    assert effects.effect(fault(-50, -40)) == Effect()


def test_clean_again_before_its_end() -> None:
    """A way round was found while the part was still down: over with the end, 0 s after it."""
    effects = EventEffects()
    for number in range(20):
        effects.add_window(row("a", number, **(LOST if number == 1 else CLEAN)), at(5 * number + 15))
    assert effects.effect(fault(6, 52)) == Effect(at(20) - at(6), 0, touched=1, recovered=1, lost=3)


def test_trouble_that_was_there_before_is_no_sign() -> None:
    """Nobody can say what the event added to it; its messages are counted, and so is its end."""
    effects = EventEffects()
    effects.add_live("a", at(3), at(3), troubled=True)
    effects.add_live("a", at(16), at(16), troubled=True)
    for number in range(3):
        effects.add_window(row("a", number, **LOST), at(20))
    effects.add_window(row("a", 3), at(30))
    assert effects.effect(fault(6, 12)) == Effect(None, at(15) - at(12), touched=1, recovered=1, lost=6)


def test_trouble_counts_for_each_event_that_goes_on() -> None:
    """Of two at once nobody can tell which one did it; a third, of other paths, has no part in it."""
    effects = EventEffects()
    effects.add_live("a", at(8), at(8.2), troubled=True)
    effects.add_window(row("a", 1, **LOST), at(20))
    effects.add_window(row("a", 2), at(25))
    assert effects.effect(fault(6, 9)) == Effect(2_200_000_000, 1_000_000_000, 1, 1, 3)
    assert effects.effect(fault(7, 11)) == Effect(1_200_000_000, 0, 1, 1, 3)
    assert effects.effect(fault(6, 9, ("b*",))) == Effect()


def test_trouble_soon_after_its_end_is_its_own() -> None:
    """A time-out fires 20 s after a connection was cut for a moment; what comes 40 s after is another's."""
    effects = EventEffects()
    for number in range(20):
        effects.add_window(row("a", number, **(LOST if number == 5 else CLEAN)), at(5 * number + 15))
    assert effects.effect(fault(6, 6.1)).touched == 1
    assert effects.effect(fault(6, 6.1)).recovered_ns == at(30) - at(6.1)
    late = EventEffects()
    for number in range(20):
        late.add_window(row("a", number, **(LOST if number == 9 else CLEAN)), at(5 * number + 15))
    assert late.effect(fault(6, 6.1)) == Effect(touched=0, lost=0)


def test_a_revision_takes_trouble_back() -> None:
    """What was called lost came after all."""
    effects = EventEffects()
    for number in range(4):
        effects.add_window(row("a", number, **(LOST if number == 1 else CLEAN)), at(20))
    effects.add_window(row("a", 1, revision=1), at(60))
    assert effects.effect(fault(6, 7)) == Effect(at(20) - at(6), touched=0, lost=0)  # it was shown


def test_time_of_which_nobody_tells_is_not_clean() -> None:
    """The monitor was away for three windows: recovered is what was seen to be."""
    effects = EventEffects()
    effects.add_window(row("a", 1, **LOST), at(20))
    effects.add_window(row("a", 5), at(40))
    assert effects.effect(fault(6, 8)).recovered_ns == at(25) - at(8)


def test_an_action_that_goes_on_has_not_recovered() -> None:
    """Its end comes by the same event told again; a moment without an action ends as it begins."""
    effects = EventEffects()
    effects.add_event(fault(6))
    effects.add_window(row("a", 1, **LOST), at(20))
    effects.add_window(row("a", 2), at(20))
    ((_, effect),) = effects.told(at(30))
    assert effect == Effect(at(20) - at(6), None, touched=1, lost=3)
    effects.add_event(fault(6, 8, text="was cut"))
    effects.add_event(fault(6))  # as Kafka may tell it once more
    ((event, effect),) = effects.told(at(30))
    # Its series go on under the text of its begin.
    assert (event.text, event.until_ns, effect.recovered_ns) == ("cut", at(8), at(10) - at(8))
    moment = Event(at(6), None, "deploy", (), "orders 2.4")
    assert effects.effect(moment).recovered_ns == at(10) - at(6)


def test_what_is_told_is_bounded_and_goes() -> None:
    """The newest 20, each until an hour after its end; a maintenance is none of them."""
    effects = EventEffects()
    for second in range(50):
        effects.add_event(fault(second, second + 1))
    effects.add_event(Event(at(100), at(200), "maintenance", (), "cable"))
    effects.add_event(fault(100_000, 100_001))
    assert [event.at_ns for event, _ in effects.told(at(60))] == [at(second) for second in range(31, 50)]
    assert len(effects.told(at(60 + 3_600 - 20))) == 10
    assert effects.told(at(60 + 3_600)) == []


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever rows say, so many are kept; the first sign of an event that is told stays."""
    monkeypatch.setattr(event_effects, "MAX_WINDOWS", 10)
    monkeypatch.setattr(event_effects, "MAX_SIGNS", 5)
    monkeypatch.setattr(event_effects, "MAX_KEPT", 30)
    effects = EventEffects()
    effects.add_event(fault(6))
    for number in range(200):
        for path in "abcdef":
            effects.add_live(path, at(5 * number + 2), at(5 * number + 2), troubled=True)
            effects.add_live(path, at(5 * number + 3), at(5 * number + 3), troubled=False)
            effects.add_window(row(path, number, **LOST), at(5 * number + 15))
    assert sum(trouble.kept() for trouble in effects.paths.values()) <= 30
    assert effects.effect(fault(6)).detected_ns == at(7) - at(6)
    effects.forget("a")
    assert "a" not in effects.paths


class Told(NamedTuple):
    """A row of a story; `kind` of a window, or `quiet` and `trouble` of live rows."""

    path: str
    kind: str
    number: int
    revision: int
    shown_ns: int


_KINDS: dict[str, dict[str, Any]] = {
    "clean": CLEAN,
    "lost": LOST,
    "blind": BLIND,
    "refused": {"classes": {"refused": 2}},
}


@st.composite
def stories(draw: st.DrawFn) -> list[Told]:
    """Rows of two paths as they would come: windows in order, three windows late, some revised later."""
    told: list[Told] = []
    first = {"a": 0, "b": draw(st.integers(0, 3))}
    made: list[tuple[str, int]] = []
    for number in range(draw(st.integers(4, 24))):
        for path in "ab":
            now_ns = START + number * LENGTH + draw(st.integers(1, LENGTH))
            told.append(Told(path, draw(st.sampled_from(["quiet", "quiet", "trouble"])), number, 0, now_ns))
            if number - 3 >= first[path]:
                kind = draw(st.sampled_from(["clean", "clean", "clean", *_KINDS]))
                told.append(Told(path, kind, number - 3, 0, now_ns + LENGTH))
                made.append((path, number - 3))
        if made and draw(st.booleans()):
            path, revised = draw(st.sampled_from(made))
            count = sum((t.path, t.number) == (path, revised) and t.kind in _KINDS for t in told)
            kind = draw(st.sampled_from(sorted(_KINDS)))
            told.append(Told(path, kind, revised, count, START + (number + 1) * LENGTH))
    return told


def feed(effects: EventEffects, told: Told) -> None:
    if told.kind in _KINDS:
        fields = _KINDS[told.kind]
        effects.add_window(row(told.path, told.number, revision=told.revision, **fields), told.shown_ns)
    else:
        at_ns = START + told.number * LENGTH
        effects.add_live(told.path, at_ns, told.shown_ns, troubled=told.kind == "trouble")


def expected(story: list[Told], event: Event) -> Effect:
    """Count by the definitions, from the whole story at once."""
    end_ns = event.until_ns
    watched_ns = float("inf") if end_ns is None else end_ns + 30 * SECOND
    detected, recovered = [], []
    touched = lost = 0
    known = False
    for path in "ab":
        own = [told for told in story if told.path == path and event.concerns(path)]
        newest = {told.number: told.kind for told in own if told.kind in _KINDS}  # the last revision
        begins = []  # of spells of trouble: by the path's time, and when shown
        told_until, spell = -1, False
        for told in own:
            time_ns = START + told.number * LENGTH
            if told.kind in {"lost", "refused"}:
                if told_until < time_ns:
                    begins.append((time_ns + LENGTH - 1, told.shown_ns))
                    told_until = time_ns + LENGTH - 1
            elif told.kind == "trouble":
                if not spell:
                    begins.append((time_ns, told.shown_ns))
                told_until, spell = max(told_until, time_ns), True
            elif told.kind == "quiet":
                spell = False
        after = [shown_ns for time_ns, shown_ns in begins if event.at_ns <= time_ns < watched_ns]
        detected += [max(0, after[0] - event.at_ns)] if after else []
        windows = [(START + n * LENGTH, START + (n + 1) * LENGTH, newest[n]) for n in sorted(newest)]
        known = known or any(end > event.at_ns and begin < watched_ns for begin, end, _ in windows)
        bad = [
            (begin, end)
            for begin, end, kind in windows
            if kind in {"lost", "refused"} and end > event.at_ns and begin < watched_ns
        ]
        if not bad:
            continue
        touched += 1
        clean = [
            begin
            for begin, end, kind in windows
            if kind == "clean" and end_ns is not None and end > end_ns and begin >= bad[0][1]
        ]
        until_ns = max(clean[0], end_ns or 0) if clean else float("inf")
        recovered += [until_ns - (end_ns or 0)] if clean else []
        lost += sum(
            3 for begin, end, kind in windows if kind == "lost" and end > event.at_ns and (begin < until_ns)
        )
    return Effect(
        detected_ns=min(detected, default=None),
        recovered_ns=int(max(recovered)) if recovered and len(recovered) == touched else None,
        touched=touched if known else None,
        recovered=len(recovered),
        lost=lost if known else None,
    )


@settings(max_examples=150, deadline=None)
@given(story=stories(), data=st.data())
def test_against_the_definitions(story: list[Told], data: st.DataObject) -> None:
    """Whenever an event is told, and whenever the exporter begins anew from its state: the same figures."""
    begin = START + data.draw(st.integers(0, 24 * LENGTH), label="begin")
    length = data.draw(st.none() | st.integers(0, 8 * LENGTH), label="length")
    paths = data.draw(st.sampled_from([(), ("a",), ("*",)]), label="paths")
    event = Event(begin, None if length is None else begin + length, "fault", paths, "x", "kill", "B")
    restarts = data.draw(st.sets(st.integers(0, len(story))), label="restarts after")
    heard = data.draw(st.integers(0, len(story)), label="told after")
    effects = EventEffects()
    for number, told in enumerate([*story, None]):
        if number in restarts:
            kept = json.loads(json.dumps(effects.dump()))
            effects = EventEffects()
            effects.load(kept)
        if number >= heard:
            effects.add_event(event)
        if told is not None:
            feed(effects, told)
    ((_, found),) = effects.told(event.at_ns + (length or 0))
    assert found == expected(story, event)


def test_the_exporter_tells_it(made: Made) -> None:
    """As metrics with the event's labels, and beside the event for page and terminal."""
    event = Event(at(61), at(64), "fault", ("east-*",), 'router "B" down', "kill", "B")
    made.now_ns = at(62)
    made.exporter.apply_event(Event(at(61), None, "fault", ("east-*",), 'router "B" killed', "kill", "B"))
    made.exporter.apply_live(live(number=12, at_ns=at(62)))
    assert made.values("event_detected_seconds") == {}
    made.now_ns = at(63.25)
    made.exporter.apply_live(live(number=12, at_ns=at(63), suspect=4))
    for number in (11, 12, 13):
        made.feed(window(number=number, lost=7 if number == 12 else 0))
    made.exporter.apply_event(event)
    labels = 'kind="fault",do="kill",what="B",text="router \\"B\\" killed",at="2023-11-14T22:14:21.000Z"'
    assert made.values("event_begun_timestamp_seconds") == {labels: at(61) / 1e9}
    assert made.values("event_ended_timestamp_seconds") == {labels: at(64) / 1e9}
    assert made.values("event_detected_seconds") == {labels: 2.25}
    assert made.values("event_recovered_seconds") == {labels: 1.0}
    assert made.values("event_touched_paths") == {labels: 1}
    assert made.values("event_lost_messages") == {labels: 7}
    (shown,) = snapshot(made.exporter)["events"]
    assert (shown["do"], shown["what"]) == ("kill", "B")
    assert shown["effect"] == {
        "detected_seconds": 2.25,
        "recovered_seconds": 1.0,
        "touched_paths": 1,
        "recovered_paths": 1,
        "lost": 7,
    }
    made.now_ns = at(64 + 3_600)
    assert made.values("event_begun_timestamp_seconds") == {}
    (shown,) = snapshot(made.exporter)["events"]
    assert shown["effect"] is None


def test_two_events_with_the_same_labels_are_one_series(made: Made) -> None:
    """Told twice in a thousandth of a second: a scrape with a series twice would be no scrape."""
    made.now_ns = at(70)
    for ns in (0, 1):
        made.exporter.apply_event(Event(at(61) + ns, at(64), "fault", (), "x", "kill", "B"))
    assert len(made.values("event_begun_timestamp_seconds")) == 1


@pytest.fixture
def made() -> Made:
    return Made()
