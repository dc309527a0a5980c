"""Rows that name hops: counted once when final, by hop and cause, whatever comes again or later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attribution_rows import episode, hop, slow
from made_counts import Made
from made_rows import LENGTH, SECOND, START, window

from collectors.contract.attribution_rows import AttributionRow, decode, encode
from streaming.exporter import core, episodes
from streaming.exporter.page_data import snapshot
from streaming.exporter.state_file import StateFile
from streaming.exporter.why_data import near, why

DROPPED = 'class="lost",hop="C → receiver",cause="dropped"'


@pytest.fixture
def made() -> Made:
    return Made()


def feed(made: Made, *rows: AttributionRow) -> None:
    for row in rows:
        made.exporter.apply_attribution(row)


def rows_read(made: Made, result: str) -> float | None:
    return made.value("exporter_rows_total", f'result="{result}",topic="attribution"')


def test_a_final_row_is_counted_once(made: Made) -> None:
    """By class, hop and cause; what no hop explains beside it; repeats and older revisions change nothing."""
    refused = hop("B", 40, of="refused", cause="released")
    row = episode(hops=[hop(), refused], unexplained_refused=2, revision=3)
    feed(made, row, row, row | {"revision": 1})
    assert made.values("path_explained_messages_total") == {
        DROPPED: 211,
        'class="refused",hop="B",cause="released"': 40,
    }
    assert made.values("path_unexplained_messages_total") == {'class="lost"': 3, 'class="refused"': 2}
    assert made.values("path_reexplained_messages_total") == {}
    assert (rows_read(made, "used"), rows_read(made, "repeat")) == (1, 2)


def test_a_row_that_is_not_final_is_shown_and_not_counted(made: Made) -> None:
    """Its first suspects may be wrong; what is late is never counted as lost."""
    late = hop("orders-a: inflight.orders", 9, of="late", cause="waiting")
    feed(made, episode(final=False, open=True), episode(number=9, hops=[late], unexplained_lost=0))
    assert made.values("path_explained_messages_total") == {}
    assert made.values("path_unexplained_messages_total") == {'class="lost"': 0, 'class="refused"': 0}
    feed(made, episode(revision=1, hops=[hop(said=200)]))
    assert made.values("path_explained_messages_total") == {DROPPED: 200}


def test_later_revisions_are_counted_beside(made: Made) -> None:
    """Explained, plus added, less removed is what the newest revision says, for each hop."""
    feed(
        made,
        episode(),
        episode(revision=1, hops=[hop(said=150), hop("A → C", 60)], unexplained_lost=4),
        episode(revision=2, hops=[hop(said=160), hop("A → C", 50)], unexplained_lost=4),
    )
    assert made.values("path_explained_messages_total") == {DROPPED: 211}
    assert made.values("path_unexplained_messages_total") == {'class="lost"': 3, 'class="refused"': 0}
    between = 'class="lost",hop="A → C",cause="dropped"'
    assert made.values("path_reexplained_messages_total") == {
        f'{DROPPED},direction="added"': 10,
        f'{DROPPED},direction="removed"': 61,
        f'{between},direction="added"': 60,
        f'{between},direction="removed"': 10,
        'class="lost",hop="",cause="unexplained",direction="added"': 1,
    }


def test_hops_of_a_path_are_bounded(made: Made) -> None:
    """64 of them have series of their own; the others are one for each class and cause."""
    for number in range(4):
        hops = [hop(f"R{number}-{index}", 1) for index in range(20)]
        feed(made, episode(number=number, hops=hops))
    values = made.values("path_explained_messages_total")
    assert len(values) == 65
    assert values['class="lost",hop="_other",cause="dropped"'] == 16
    assert sum(values.values()) == 80
    feed(made, episode(number=3, revision=1, hops=[hop(f"R3-{index}", 2) for index in range(20)]))
    assert (
        made.values("path_reexplained_messages_total")[
            'class="lost",hop="_other",cause="dropped",direction="added"'
        ]
        == 16
    )


def test_twenty_episodes_are_kept_and_no_forgotten_one_counts_again(made: Made) -> None:
    """What was dropped is known by its time."""
    rows = [episode(number=number, hops=[hop(said=1)]) for number in range(25)]
    feed(made, *rows)
    made.now_ns = START + 30 * LENGTH
    assert [row["episode_ns"] for row in why(made.exporter, "east-west")["rows"]] == [
        START + number * LENGTH for number in reversed(range(5, 25))
    ]
    feed(made, *(row | {"revision": 1} for row in rows[:5]))
    assert made.values("path_explained_messages_total") == {DROPPED: 25}
    assert rows_read(made, "old") == 5


def test_episodes_are_forgotten_after_a_day(made: Made) -> None:
    """But not while rows of the past are being read: they are not counted yet."""
    feed(made, episode(final=False))
    made.now_ns += 25 * 3_600 * SECOND
    made.exporter.catching_up = True
    assert len(why(made.exporter, "east-west")["rows"]) == 1
    feed(made, episode(revision=1))
    made.exporter.catching_up = False
    assert why(made.exporter, "east-west")["rows"] == []
    feed(made, episode(revision=2))
    assert made.values("path_explained_messages_total") == {DROPPED: 211}


def test_memory_of_rows_is_bounded(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path keeps its newest ones; what no room is left for at all is refused and counted."""
    thick = [hop(said=211, evidence=["x" * 500] * 16)]
    monkeypatch.setattr(episodes, "MOST_BYTES", 50_000)
    feed(made, *(episode(number=number, hops=thick) for number in range(6)))
    assert len(made.exporter.paths["east-west"].episodes.kept) == 2
    monkeypatch.setattr(made.exporter.episodes_memory, "_most_bytes", 50_000)
    feed(made, episode("guest", hops=thick))
    assert rows_read(made, "full") == 1
    assert made.exporter.episodes_memory.used_bytes < 50_000


def test_the_blamed_hop_of_an_episode_of_now(made: Made) -> None:
    """One series for a path: the first hop of its newest episode, until ten minutes after the end."""
    feed(made, episode(number=1, hops=[hop("B", 5)]), episode(number=2), slow(number=3))
    assert made.values("path_blamed_hop") == {'hop="C → receiver",cause="dropped"': 211}
    assert made.values("path_route_messages") == {
        'place="01",hop="east → A",flow="in"': 500,
        'place="01",hop="east → A",flow="out"': 500,
        'place="02",hop="A",flow="in"': 500,
        'place="02",hop="A",flow="out"': 500,
        'place="03",hop="A → C",flow="in"': 500,
        'place="03",hop="A → C",flow="out"': 500,
        'place="04",hop="C → receiver",flow="in"': 500,
        'place="04",hop="C → receiver",flow="out"': 289,
    }
    made.now_ns = START + 3 * LENGTH + 600 * SECOND
    assert len(made.values("path_blamed_hop")) == 1
    made.now_ns += 1
    assert made.values("path_blamed_hop") == made.values("path_route_messages") == {}


def test_delay_is_told_while_it_goes_on(made: Made) -> None:
    """By hop, of the newest open slow episode."""
    feed(made, slow())
    labels = 'hop="orders-a: inflight.orders",cause="slow"'
    assert made.values("path_delay_explained_seconds") == {labels: 0.038}
    feed(made, slow(revision=1, open=False))
    assert made.values("path_delay_explained_seconds") == {}


def test_what_was_merged_or_came_after_all_is_not_blamed(made: Made) -> None:
    """An episode whose sums became 0, or whose windows another one holds now."""
    none: dict[str, Any] = {"hops": [], "unexplained_lost": 0}
    feed(made, episode(), episode(revision=1, **none))
    feed(made, episode(number=3), episode(number=3, revision=1, merged_into=START))
    assert made.values("path_blamed_hop") == {}
    assert snapshot(made.exporter)["paths"][0]["where"] is None


def test_the_page_has_the_sentence(made: Made) -> None:
    """Missing messages before slow ones; red while it goes on and for a minute after."""
    feed(made, slow(number=4), episode(number=3))
    found = snapshot(made.exporter)["paths"][0]["where"]
    assert found["sentence"] == "214 of 500 lost 22:13:20-25: 211 dropped at C → receiver, 3 unexplained"
    assert (found["hop"], found["at"], found["to"], found["cause"]) == (
        "C → receiver",
        "C",
        "receiver",
        "dropped",
    )
    assert found["now"]
    made.now_ns += 60 * SECOND
    assert not snapshot(made.exporter)["paths"][0]["where"]["now"]


def test_why_has_the_rows_and_the_newest_window(made: Made) -> None:
    """Newest first, whole; of an unknown path the names that are near."""
    made.feed(window(number=2, lost=3))
    feed(made, episode(number=0), slow(number=1))
    found = why(made.exporter, "east-west")
    assert found["rows"] == [slow(number=1), episode(number=0)]
    assert (found["window"]["start_ns"], found["window"]["sent"]) == (START + 2 * LENGTH, 53)
    assert found["window"]["classes"]["lost"] == 3
    assert why(made.exporter, "eastwest") == {
        "v": 1,
        "path": "eastwest",
        "known": False,
        "near": ["east-west"],
    }
    assert near("west", ["east-west", "x/WEST", "south"]) == ["east-west", "x/WEST"]


def test_hostile_rows_are_refused_and_counted(made: Made) -> None:
    """Sums that do not add up, huge names, an end before the begin, times of the future."""
    wrongs: tuple[dict[str, Any], ...] = (
        {"lost": 500},
        {"sentence": "x" * 2_000},
        {"hops": [hop("x" * 200)]},
        {"from_ns": START + 2 * LENGTH},
    )
    for wrong in wrongs:
        row: Any = episode() | wrong
        with pytest.raises(ValueError, match=r"add up|sentence|hop|before it begins"):
            made.exporter.apply_attribution(decode(encode(row)))
    feed(made, episode(to_ns=made.now_ns + 3_600 * SECOND))
    assert rows_read(made, "future") == 1
    assert made.exporter.paths["east-west"].episodes.kept == {}


def test_a_path_that_nobody_told_of_yet(made: Made) -> None:
    """Topics are read side by side: its episode may come before its first window."""
    feed(made, episode("guest"))
    assert 'inflight_path_explained_messages_total{mesh="prod",path="guest",class="lost"' in made.text()


def test_counters_survive_a_restart(tmp_path: Path, made: Made) -> None:
    """With what was counted of each episode: a row that is read again counts nothing."""
    state = StateFile(tmp_path / "exporter.json", "inflight")
    feed(made, episode(), episode(revision=1, hops=[hop(said=200)]), episode(number=2, final=False))
    before = {name: made.values(name) for name in _COUNTERS}
    assert before["path_reexplained_messages_total"]
    state.save(made.exporter, {"inflight.attribution": {0: 3}})
    made.start()
    assert state.load(made.exporter) == {"inflight.attribution": {0: 3}}
    assert {name: made.values(name) for name in _COUNTERS} == before
    assert made.exporter.episodes_memory.used_bytes > 1_000
    feed(made, episode(), episode(revision=1, hops=[hop(said=200)]))
    assert {name: made.values(name) for name in _COUNTERS} == before
    feed(made, episode(number=2, revision=1, hops=[hop(said=1)]))
    assert made.values("path_explained_messages_total") == {DROPPED: 212}


_COUNTERS = (
    "path_explained_messages_total",
    "path_unexplained_messages_total",
    "path_reexplained_messages_total",
)


def test_a_state_of_before_is_read(tmp_path: Path, made: Made) -> None:
    """It had no episodes; and one whose rows are refused today counts none of them again."""
    state = StateFile(tmp_path / "exporter.json", "inflight")
    made.feed(window(number=0))
    feed(made, episode())
    state.save(made.exporter, {})
    saved = json.loads(state.file.read_text())
    saved["paths"]["east-west"]["episodes"]["rows"][0][2] = "{}"
    state.file.write_text(json.dumps(saved))
    made.start()
    state.load(made.exporter)
    feed(made, episode())
    assert made.values("path_explained_messages_total") == {DROPPED: 211}
    del saved["paths"]["east-west"]["episodes"]
    state.file.write_text(json.dumps(saved))
    made.start()
    state.load(made.exporter)
    assert made.value("path_sent_messages_total") == 50
    assert made.values("path_explained_messages_total") == {}
    assert core.MAX_EPISODES_BYTES == 64 << 20
