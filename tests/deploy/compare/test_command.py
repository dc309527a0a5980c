"""`inflight compare` and `inflight baseline`: what they say, and their exit status."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from made_results import result_folder
from markdown_it import MarkdownIt
from rich.cells import cell_len

from deploy.cli import main

HOSTILE = "a|b`*_<img src=x>[x](http://x)@team#1~"


def told(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of six runs: what is told of them against `a` is their name."""
    folder = tmp_path_factory.mktemp("made")
    for name, how in {
        "a": {},
        "same": {"seed": 8},
        "worse": {"seed": 9, "slower_by": 1.3},
        "better": {"seed": 10, "slower_by": 0.7},
        "short": {"seed": 11, "windows": 12},
        "few": {"seed": 12, "repetitions": 3},
        "losing": {"seed": 13, "lost": 400},
        "calibration-a": {"seed": 20, "plan": "calibration"},
        "calibration-b": {"seed": 21, "plan": "calibration"},
        "calibration-slow": {"seed": 22, "plan": "calibration", "slower_by": 1.3},
    }.items():
        result_folder(folder / name, **{"repetitions": 6, **how})  # type: ignore[arg-type]
    return folder


@pytest.mark.parametrize(
    ("b", "word", "status"),
    [
        ("same", "same", 0),
        ("better", "better", 0),
        ("worse", "worse", 1),
        ("losing", "worse", 1),
        ("short", "unclear", 3),
        ("few", "unclear", 3),
    ],
)
def test_the_answer_and_its_status(made: Path, b: str, word: str, status: int) -> None:
    """The first word is the answer, and the exit status says the same; all of it fits into 80 columns."""
    done = told("compare", made / "a", made / b)
    assert done.output.startswith(f"{word}: ")
    assert done.exit_code == status
    assert max(map(cell_len, done.output.splitlines())) <= 80
    assert re.search(r"^p99 +8\.\d+ ms +", done.output, re.MULTILINE)


def test_unclear_says_what_would_decide(made: Path) -> None:
    """Windows too few, or repetitions."""
    assert "12 steady windows of at least 30" in told("compare", made / "a", made / "short").output.replace(
        "\n", " "
    )
    few = told("compare", made / "a", made / "few").output.replace("\n", " ")
    assert "at least 6" in few


def test_json(made: Path) -> None:
    """All figures, both sides, and the rules that it was found by."""
    done = told("compare", made / "a", made / "worse", "--json")
    assert done.exit_code == 1
    value = json.loads(done.output)
    assert value["format"] == 1
    assert value["word"] == "worse"
    assert value["why"].startswith("worse: p50")
    assert value["a"]["runs"] == 6
    (verdict,) = value["verdicts"]
    assert verdict["levels"] == {}
    assert [figure["name"] for figure in verdict["figures"]] == ["p50", "p99", "rate", "loss"]
    # Slower by 30 %, with 1 % of noise between runs.
    assert verdict["figures"][0]["difference"] == pytest.approx(0.3, abs=0.05)


def test_markdown_reads_well_and_names_are_names(made: Path, tmp_path: Path) -> None:
    """The answer is its first paragraph, the table is one; a name makes no link, tag or column."""
    b = tmp_path / HOSTILE.replace("/", "")
    shutil.copytree(made / "worse", b)
    done = told("compare", made / "a", b, "--markdown")
    assert done.exit_code == 1
    assert done.output.startswith("**Worse**: p50 ")
    page = MarkdownIt("gfm-like", {"linkify": False}).render(done.output)
    tables = re.findall(r"<table>.*?</table>", page, re.DOTALL)
    assert len(tables) == 2
    assert [row.count("<td") for row in tables[0].split("<tr>")[2:]] == [8] * 4
    assert [row.count("<td") for row in tables[1].split("<tr>")[2:]] == [4] * 2
    assert "<img" not in page
    assert "<a " not in page
    assert "@team" not in page
    assert "a|b`*_&lt;img src=x&gt;" in tables[1]


def test_levels_are_compared_one_by_one(tmp_path: Path) -> None:
    """Slower with one of two levels: worse, and it is named; the other one is the same."""
    for name, effects in (("a", {}), ("b", {"load.size": {"4kB": 1.4}})):
        result_folder(
            tmp_path / name,
            factors={"load.size": ["256B", "4kB"]},
            repetitions=6,
            effects=effects,
            seed=len(effects) + 1,
        )
    done = told("compare", tmp_path / "a", tmp_path / "b")
    said = re.sub(r"\s+", " ", done.output)
    assert done.exit_code == 1
    assert said.startswith("worse: with 1 of 2 combinations of levels; load.size = 4kB: p50 ")
    assert "load.size = 256B: same" in done.output
    assert "one may be told worse or better by chance" in said


def test_two_levels_of_one_plan(tmp_path: Path) -> None:
    """Of one folder the runs at one level against those at another; the factor is no difference then."""
    factors: dict[str, list[Any]] = {"slow": ["no", "yes"], "clients": [1, 2]}
    made = result_folder(
        tmp_path / "r", factors=factors, repetitions=6, effects={"slow": {"yes": 1.4}, "clients": {2: 2.0}}
    )
    slower = told("compare", made, made, "--factor", "slow", "no", "yes", "--json")
    assert slower.exit_code == 1
    value = json.loads(slower.output)
    assert value["a"]["name"].endswith("r at slow = no")
    assert [each["levels"] for each in value["verdicts"]] == [{"clients": 1}, {"clients": 2}]
    assert [each["word"] for each in value["verdicts"]] == ["worse", "worse"]
    for verdict in value["verdicts"]:
        assert verdict["repetitions"] == [6, 6]
        assert verdict["figures"][0]["difference"] == pytest.approx(0.4, abs=0.05)
    clients = json.loads(told("compare", made, made, "--factor", "clients", "2", "1", "--json").output)
    assert clients["word"] == "better"
    for arguments, said in (
        (("speed", "no", "yes"), "r has no factor speed; it has: slow, clients"),
        (("slow", "no", "maybe"), "slow has no level maybe in r; it has: no, yes"),
    ):
        done = told("compare", made, made, "--factor", *arguments)
        assert done.exit_code == 2
        assert said in done.output


def test_a_page_beside(made: Path, tmp_path: Path) -> None:
    """Written whole; where it cannot be, that is told."""
    page = tmp_path / "page.html"
    assert told("compare", made / "a", made / "same", "--html", page).exit_code == 0
    assert page.read_text().startswith("<!doctype html>")
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
    failed = told("compare", made / "a", made / "same", "--html", tmp_path / "no" / "where.html")
    assert failed.exit_code == 2
    assert "where.html cannot be written: No such file" in failed.output


def test_a_baseline_needs_a_calibration_that_agrees(made: Path, tmp_path: Path) -> None:
    """Without: unclear, and what to do. With one that was slower: unclear. With one as fast: the verdict."""
    kept = ("--baselines", tmp_path / "kept")
    assert (
        told("baseline", "save", "main", made / "a", "--calibration", made / "calibration-a", *kept).exit_code
        == 0
    )
    compared = ("compare", "baseline:main", made / "worse", *kept)
    without = told(*compared)
    assert without.exit_code == 3
    assert "a machine has fast and slow hours; run a calibration load beside both" in without.output.replace(
        "\n", " "
    )
    slow = told(*compared, "--calibration", made / "calibration-slow")
    assert slow.exit_code == 3
    assert "the machine is not known to have been as fast beside both" in slow.output.replace("\n", " ")
    fast = told(*compared, "--calibration", made / "calibration-b")
    assert fast.exit_code == 1
    assert fast.output.startswith("worse: ")
    assert "note: calibration: the machine was as fast beside both" in fast.output


def test_another_machine_needs_one_too(made: Path, tmp_path: Path) -> None:
    """A difference between two machines says nothing of what was changed."""
    other = tmp_path / "other"
    shutil.copytree(made / "worse", other)
    _put(other / "experiment.json", machine={"cpu": "a faster one", "cores": 16})
    done = told("compare", made / "a", other)
    assert done.exit_code == 3
    assert "A and B ran on different machines (cpu: a made-up one and a faster one;" in done.output.replace(
        "\n", " "
    )


def _put(file: Path, **fields: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))


def test_saving_and_listing(made: Path, tmp_path: Path) -> None:
    """What a comparison needs, no more; its size is told, and a name that is taken stays taken."""
    kept = ("--baselines", tmp_path / "kept")
    assert "no baseline in" in told("baseline", "list", *kept).output
    saved = told("baseline", "save", "main", made / "a", *kept)
    assert saved.exit_code == 0
    assert re.search(r"main: 6 runs, [\d.]+ kB, [\d.]+ kB packed: [\d.]+ kB an hour of results", saved.output)
    assert "no calibration: comparisons with it will be unclear" in saved.output
    files = {str(each.relative_to(tmp_path / "kept/main")) for each in (tmp_path / "kept/main").rglob("*.*")}
    assert files == {"experiment.json", "plan.yaml", *(f"runs/000{n}/summary.json" for n in range(1, 7))}
    again = told("baseline", "save", "main", made / "same", *kept)
    assert again.exit_code == 2
    assert "there is a baseline main already; --replace puts this one in its place" in again.output
    assert told("baseline", "save", "main", made / "same", "--replace", *kept).exit_code == 0
    (tmp_path / "kept/broken").mkdir()
    listed = told("baseline", "list", *kept).output
    assert "main  2023-11-14 22:13 UTC  restart, 6 runs, no calibration" in listed
    assert "cannot be read: broken: " in listed
    assert told("compare", "baseline:main", made / "a", *kept).exit_code == 3


def test_results_are_small(tmp_path: Path) -> None:
    """An hour of windows of 5 s of one path takes less than a tenth of a gigabyte, packed."""
    made = result_folder(tmp_path / "hour", repetitions=1, windows=720, files=True)
    done = told("baseline", "save", "hour", made, "--baselines", tmp_path / "kept").output
    hourly = [re.search(r"packed: ([\d.]+) (k|M|G)B an hour", line) for line in done.splitlines()[:2]]
    scales = {"k": 1e3, "M": 1e6, "G": 1e9}
    assert all(found and float(found[1]) * scales[found[2]] < 1e8 for found in hourly)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("compare", "a", "nowhere"),
            "nowhere is not there; a result folder is what `inflight experiment run`",
        ),
        (("compare", "a", "other"), "load.rate: 100/s in A, 200/s in B\nrun one plan on both"),
        (("compare", "a", "empty"), "empty has no finished run; `inflight experiment resume"),
        (("compare", "baseline:none", "a"), "no baseline none is in .inflight/baselines; known: none"),
        (("compare", "baseline:../a", "a"), "'../a' is no name of a baseline"),
        (("compare", "a", "a", "--json", "--markdown"), "--markdown and --json are one instead of the other"),
        (("compare", "a", "levels"), "load.size: nothing in A"),
        (("baseline", "save", "x/y", "a"), "'x/y' is no name of a baseline"),
        (("baseline", "save", "x", "empty"), "empty has no finished run: there is nothing to compare with"),
    ],
)
def test_misuse_is_told(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    """In a sentence, with status 2."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made / "a", "a")
    result_folder(Path("other"), load={"rate": "200/s", "size": "256B"})
    result_folder(Path("empty"), only=0)
    result_folder(Path("levels"), load={"rate": "100/s"}, factors={"load.size": ["256B", "4kB"]})
    done = told(*arguments)
    assert done.exit_code == 2
    assert said in done.output
    assert "Traceback" not in done.output
