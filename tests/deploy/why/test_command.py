"""`inflight why`: a sentence with its sum, then the hops; from an exporter, or from an archive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attribution_rows import episode, hop, slow, stop
from click.testing import CliRunner, Result
from helpers import free_port
from made_exporter import Served, recent
from made_rows import LENGTH, START, window
from rich.cells import cell_len

from collectors.contract import attribution_rows, window_rows
from deploy.cli import main
from deploy.commands.why import command
from deploy.parts.row_archive import RowArchive
from deploy.why.choose import Known, choose
from deploy.why.text import text

SENTENCE = "214 of 500 lost 22:13:20-25: 211 dropped at C → receiver, 3 unexplained"
SUMS: dict[str, Any] = {
    "start_ns": START,
    "length_ns": LENGTH,
    "sent": 50,
    "classes": {"received": 50, "lost": 0, "refused": 0, "unobserved": 0},
}


@pytest.fixture
def served() -> Iterator[Served]:
    made = Served()
    yield made
    made.close()


def why(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def known(*rows: Any, **sums: Any) -> Known:
    return Known(path="east-west", now_ns=START + 2 * LENGTH, rows=rows, window=SUMS | sums)


def test_the_sentence_and_the_table() -> None:
    """The route in order, what entered and left each stop, the evidence, and what nothing explains below."""
    dropped = hop(evidence=["the link's droppedPresettled rose 0 → 211 between 22:13:17 and 22:13:27"])
    row = episode(hops=[dropped | {"lower": 205, "upper": 218}, hop("D", 5, exact=True)], not_exact="")
    assert text(choose(known(row))).splitlines() == [
        SENTENCE,
        "",
        "hop           in out lost cause   evidence",
        "east → A     500 500",
        "A            500 500",
        "A → C        500 500",
        "C → receiver 500 289  211 dropped from 205 to 218",
        "                                  the link's droppedPresettled rose 0 → 211",
        "                                  between 22:13:17 and 22:13:27",
        "D              –   –    5 dropped exact",
        "                                  droppedPresettled of D rose by 5",
        "(no hop)                3         lost, unexplained",
        "",
        "note: in and out: counted from the poll before it to the poll after it",
    ]


def test_evidence_stands_once_for_each_hop() -> None:
    """Of what a hop lost and refused the evidence is often the same."""
    gone = [hop("B", 80, cause="gone", of=of, evidence=["B did not answer"]) for of in ("lost", "refused")]
    row = episode(hops=gone, route=[stop("B", None, None)], unexplained_lost=0, not_exact="")
    assert text(choose(known(row))).splitlines()[2:] == [
        "hop in out missing cause evidence",
        "B    –   –      80 gone  lost",
        "                         B did not answer",
        "B               80 gone  refused",
    ]


def test_slow_says_where_the_time_went() -> None:
    """Delays in place of sums."""
    lines = text(choose(known(slow(route=[], not_exact="")))).splitlines()
    assert lines[0] == "p95 3 → 40 ms: 38 ms waiting in orders-a: inflight.orders"
    assert lines[2].split() == ["hop", "in", "out", "delay", "cause", "evidence"]
    assert lines[3].split()[:7] == ["orders-a:", "inflight.orders", "–", "–", "38", "ms", "slow"]
    assert lines[-2:] == [
        "note: p95 40 ms, normal 3 ms",
        "note: not final: polls or windows of this time are still to come",
    ]


def test_tells_no_normal_where_none_is_known() -> None:
    """A path that was slow from its start on is held against its objective alone."""
    row = slow(slow={"percentile": "95", "normal_ns": 0, "now_ns": 40_000_000})
    assert "note: p95 40 ms, above its objective's bound" in text(choose(known(row))).splitlines()


def test_fits_80_columns_whatever_comes() -> None:
    """Long names are cut, evidence goes on below; nothing steers the terminal."""
    wide = hop("路" * 190, 10**15, evidence=["数 " * 200, "\x1b[31mred"] * 2, cause="no_route")
    route = [stop("路" * 190, 10**15, 10**15, 10**15, "no_route"), stop("x" * 190, None, None)]
    lines = text(choose(known(episode(hops=[wide], route=route, sentence="长" * 500)))).splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert not any("\x1b" in line for line in lines)


def test_of_several_missing_messages_come_first() -> None:
    """Without a time: what goes on or ended in ten minutes; with one: what was then, or within a minute."""
    lost, late = episode(number=0), slow(number=1)
    merged, nothing = episode(number=5, merged_into=START), episode(number=6, hops=[], unexplained_lost=0)
    all_ = known(lost, late, merged, nothing)
    assert (choose(all_).row, choose(all_).also) == (lost, [late])
    assert choose(all_, START + LENGTH + 1).row == late
    assert choose(all_, START + LENGTH + 1).also == []
    assert choose(all_, START - 59 * 10**9).row == lost
    long_ago = choose(all_, START - 61 * 10**9)
    assert (long_ago.row, long_ago.before, long_ago.wrong) == (None, None, False)
    later = Known(path="east-west", now_ns=START + LENGTH + 601 * 10**9, rows=[lost], window=SUMS)
    assert (choose(later).row, choose(later).before) == (None, lost)


def test_nothing_missing_tells_the_newest_windows_sums() -> None:
    """And what was before; a loss that no row names yet is told as such."""
    later = Known(path="east-west", now_ns=START + 10**13, rows=[episode()], window=SUMS)
    assert text(choose(later)).splitlines() == [
        "nothing missing: 50 of 50 sent 22:13:20–22:13:25 UTC received",
        f"before: {SENTENCE}",
        "        (--at 2023-11-14T22:13:20Z)",
    ]
    unseen = {"received": 40, "lost": 0, "refused": 0, "unobserved": 10}
    assert "40 of 50 sent 22:13:20–22:13:25 UTC received, 10 not observed" in text(
        choose(known(classes=unseen))
    )
    chosen = choose(known(classes={"received": 40, "lost": 7, "refused": 3}))
    assert text(chosen) == ("7 lost and 3 refused of 50 sent 22:13:20–22:13:25 UTC; no hop is named yet\n")
    assert chosen.wrong
    assert not choose(Known(path="x", now_ns=START, rows=[], window=None)).wrong


def test_asks_the_exporter(served: Served) -> None:
    """Exit status 1 where something is missing, 0 where nothing is."""
    now = recent()
    served.exporter.apply_window(window(number=now))
    quiet = why("east-west", served.url)
    assert quiet.exit_code == 0, quiet.output
    assert quiet.output.startswith("nothing missing: 50 of 50 sent ")
    served.exporter.apply_attribution(episode(number=now))
    found = why("east-west", served.url)
    assert (found.exit_code, found.output.splitlines()[0]) == (1, SENTENCE)
    before = why("east-west", served.url, "--at", "2h")
    assert (before.exit_code, before.output[:23]) == (0, "nothing missing is know")


def test_as_json(served: Served) -> None:
    """The whole row, and the sums of the newest window."""
    now = recent()
    served.exporter.apply_attribution(episode(number=now))
    result = why("east-west", served.url, "--json")
    found = json.loads(result.output)
    assert result.exit_code == 1
    assert found["episode"] == episode(number=now)
    assert (found["sentence"], found["also"], found["window"]) == (SENTENCE, [], None)


def test_an_unknown_path_names_those_that_are_near(served: Served) -> None:
    """Exit status 2."""
    result = why("east-wst", served.url)
    assert result.exit_code == 2
    assert result.output == "inflight: no path east-wst is known: did you mean east-west?\n"
    result = why("\x1b[2J&path=east-west", served.url)
    assert result.exit_code == 2
    assert "\x1b" not in result.output


def test_what_cannot_be_asked(served: Served, tmp_path: Path) -> None:
    """Nobody there, something else there, no URL, no time, no archive: one line, and what to do."""
    nobody = f"http://127.0.0.1:{free_port()}"
    for arguments, said in (
        (("p", nobody), "is `inflight export` or `inflight run` there?"),
        (("p", f"{served.url}/metrics?x="), "is it an exporter of this version?"),
        (("p", "no url"), "inflight: "),
        (("p", "--at", "noon"), "write a time like 2026-01-31T10:00"),
        (("p", "--archive", str(tmp_path / "none")), "is no archive"),
    ):
        result = why(*arguments)
        assert result.exit_code == 2, result.output
        assert said in result.output


def test_an_interrupt_says_nothing_of_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit status 1 would be that messages are missing."""

    def interrupted(*_: Any) -> Known:
        raise KeyboardInterrupt

    monkeypatch.setattr("deploy.commands.why.ask_exporter", interrupted)
    found = CliRunner().invoke(main, ["why", "east-west"])
    assert found.exit_code == 2
    assert "interrupted" in found.output


def test_a_slow_episode_without_a_hop_has_no_empty_table() -> None:
    """Nothing is known of where: the head of a table would say that there is something."""
    lines = text(choose(known(slow(route=[], hops=[], not_exact="")))).splitlines()
    assert not [line for line in lines if line.split()[:2] == ["hop", "in"]]


def test_asks_an_archive(tmp_path: Path) -> None:
    """Of the past, with no exporter: the highest revision of the episode, else the window's sums."""
    archive = RowArchive(tmp_path, list)
    for number in range(4):
        archive.add(window_rows.encode(window(number=number, lost=number)))
    for revision in (1, 0):
        archive.add_attribution(attribution_rows.encode(episode(number=0, revision=revision)))
    archive.close()
    result = why("east-west", "--archive", str(tmp_path), "--at", "2023-11-14T22:13:21")
    assert (result.exit_code, result.output.splitlines()[0]) == (1, SENTENCE)
    result = why("east-west", "--archive", str(tmp_path), "--at", "2023-11-14T22:20:00", "--json")
    found = json.loads(result.output)
    assert (found["episode"], found["before"]["revision"]) == (None, 1)
    assert found["window"]["start_ns"] == START + 3 * LENGTH
    result = why("west", "--archive", str(tmp_path), "--at", "2023-11-14T22:13:21")
    assert result.exit_code == 2
    assert "did you mean east-west?" in result.output


def test_the_endpoint_wants_a_path(served: Served) -> None:
    """And is JSON for scripts."""
    served.exporter.apply_attribution(episode(number=recent()))
    assert json.loads(served.get("/api/why?path=east-west"))["rows"][0]["sentence"] == SENTENCE
    result = why("", served.url)
    assert (result.exit_code, "ask for a path" in result.output) == (2, True)
