"""Reading a result folder: what a person may get wrong is told, with what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from made_results import result_folder

from deploy.errors import Problem
from deploy.results import folder


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """Plan, runs in order, and which are missing or half done."""
    made = result_folder(tmp_path / "r", repetitions=4, only=3)
    (made / "runs" / "0004.part").mkdir()
    found = folder.read(made)
    assert found.plan.plan == "restart"
    assert [run.number for run in found.runs] == [1, 2, 3]
    assert found.runs[0].all is not None
    assert found.runs[0].all.windows == 36
    assert found.half == ["0004.part"]
    told = json.loads((made / "runs" / "0001" / "summary.json").read_text())
    del told["figures"]["east-west"]["series"]  # of single paths nobody reads it, and it may be much
    assert found.summaries[0] == told


def test_what_later_versions_add_does_not_matter(tmp_path: Path) -> None:
    """A key that is not known is left alone, as long as the format is the same."""
    made = result_folder(tmp_path / "r", repetitions=1)
    _change(made / "experiment.json", lambda value: {**value, "weather": "fine"})
    _change(made / "runs/0001/summary.json", lambda value: {**value, "moon": {"phase": 3}})
    assert len(folder.read(made).runs) == 1


def test_factors_have_the_order_of_the_plan(tmp_path: Path) -> None:
    """Not that of the runs, which is random; without a plan that can be read, that of the runs."""
    made = result_folder(tmp_path / "r", factors={"b": ["4kB", "256B"], "a": [5, 1]}, repetitions=1)
    _change(made / "experiment.json", lambda value: {**value, "runs": value["runs"][::-1]})
    assert folder.factors_of(folder.read(made)) == {"b": ["4kB", "256B"], "a": [5, 1]}
    (made / "plan.yaml").write_text("[: no plan")
    assert folder.factors_of(folder.read(made)) == {"b": ["256B", "4kB"], "a": [1, 5]}


def _change(file: Path, change: Callable[[dict[str, object]], object]) -> None:
    file.write_text(json.dumps(change(json.loads(file.read_text()))))


def _without_experiment(made: Path) -> None:
    (made / "experiment.json").unlink()


def _half_written(made: Path) -> None:
    file = made / "runs/0002/summary.json"
    file.write_text(file.read_text()[:500])


def _newer(made: Path) -> None:
    _change(made / "runs/0001/summary.json", lambda value: {**value, "format": 2})


def _foreign(made: Path) -> None:
    (made / "experiment.json").write_text('{"name": "a JavaScript package", "version": "1.0"}')


def _a_list(made: Path) -> None:
    (made / "experiment.json").write_text("[1, 2]")


def _wrong_types(made: Path) -> None:
    _change(made / "runs/0001/summary.json", lambda value: {**value, "began_ns": "soon", "repetition": -1})


def _not_finite(made: Path) -> None:
    file = made / "runs/0001/summary.json"
    file.write_text(file.read_text().replace('"asked_per_second": 100.0', '"asked_per_second": 1e999', 1))


def _huge(made: Path) -> None:
    with (made / "runs/0001/summary.json").open("r+b") as file:
        file.truncate(folder.MAX_BYTES + 1)


def _nested(made: Path) -> None:
    (made / "experiment.json").write_text("[" * 100_000)


def _missing(made: Path) -> None:
    (made / "runs/0001/summary.json").unlink()


def _renamed(made: Path) -> None:
    (made / "runs/0002").rename(made / "runs/0009")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            _without_experiment,
            "is no result folder: it has no experiment.json, which `inflight experiment run`",
        ),
        (
            _half_written,
            "runs/0002/summary.json is half-written or no JSON: at byte 500; take its folder away",
        ),
        (_newer, "has format 2, of a newer Inflight; this one reads format 1: upgrade it"),
        (_foreign, "experiment.json is not of an experiment: `format` is None, not 1"),
        (_a_list, "experiment.json is not of an experiment: it is no JSON object"),
        (_wrong_types, "0001/summary.json is not as an experiment writes it: repetition: "),
        (_not_finite, "figures.all.asked_per_second: Input should be a finite number"),
        (_huge, "0001/summary.json is larger than 64 MB, which no experiment writes"),
        (_nested, "experiment.json is half-written or no JSON: it is nested too deep"),
        (_missing, "0001/summary.json is missing: the run is not whole; take its folder away"),
        (_renamed, "says that it is of run 2: its folder was renamed or copied"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, spoil: Callable[[Path], None], said: str) -> None:
    """Where, what, and what to do."""
    made = result_folder(tmp_path / "r", repetitions=2)
    spoil(made)
    with pytest.raises(Problem) as told:
        folder.read(made)
    assert said in told.value.message


def test_no_folder(tmp_path: Path) -> None:
    """Missing, or a file."""
    (tmp_path / "file").write_text("x")
    for name, said in (("none", "is not there"), ("file", "is no folder")):
        with pytest.raises(Problem, match=said):
            folder.read(tmp_path / name)
