"""Where time goes, of runs whose times are chosen: the parts are those that were put in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.config.load import ConfigError
from collectors.contract.telemetry import Telemetry
from deploy.experiment import plan, tiers
from deploy.experiment.folder import Folder
from deploy.experiment.waiting import Waiting

WITHOUT = {"store": {"middle": "journal"}, "broker": {"middle": "router"}}
MS = 1_000_000
PLAN = """\
version: 1
name: tiers
says: Where does the time go?
network: {topology: {routers: {A: {}}}}
load: {rate: 10/s, paths: {x: {from: A, to: A, address: x}}}
phases: {steady: 5s}
factors: {load.size: [100B, 1kB]}
tiers: {store: {load.size: 2kB}, hop: {size: 1kB}}
"""


def run(middle: str, service_ms: float, *, before_ms: float = 0.0, waiting: float = 0.0) -> dict[str, Any]:
    """Return the summary of a run in which messages took so long, at 100 a second."""
    figures = {
        "mean_ns": (service_ms + before_ms) * MS,
        "service_mean_ns": service_ms * MS,
        "rate_per_second": 100.0,
    }
    waits = {} if middle == "router" else {"middle": waiting}
    return {"levels": {"middle": middle}, "figures": {"all": figures}, "waiting": waits}


def own_ms(table: Mapping[str, Any]) -> dict[str, float]:
    return {row["name"]: row["own_ns"] / MS for row in table["rows"]}


def test_each_tier_has_what_was_put_in() -> None:
    """Router 1 ms, broker 3 more, of which 0.05 messages wait at 100/s, database 6 more, 0.5 ms before."""
    runs = [run("router", 1), run("journal", 4, waiting=0.05), run("database", 10, before_ms=0.5)]
    (table,) = tiers.tables(WITHOUT, runs)
    assert table["levels"] == {"middle": "database"}
    assert own_ms(table) == pytest.approx(
        {
            "before it is sent": 0.5,
            "client and network": 1,
            "broker": 2.5,
            "waiting in middle": 0.5,
            "store": 6,
            "not explained": 0,
        },
        abs=1e-9,
    )
    assert table["adds_up"]


@pytest.mark.filterwarnings("ignore:Precision loss")  # of an interval of means that hardly differ
@given(st.lists(st.tuples(*[st.floats(0.1, 1e3)] * 3), min_size=1, max_size=5))
def test_rows_add_up_to_the_whole(times: list[tuple[float, float, float]]) -> None:
    """However many repetitions and whatever they took, and also where a tier makes nothing slower."""
    runs = [
        run(middle, ms)
        for one in times
        for middle, ms in zip(("router", "journal", "database"), one, strict=True)
    ]
    (table,) = tiers.tables(WITHOUT, runs)
    mean_ns = sum(one[2] for one in times) / len(times) * MS
    assert sum(row["own_ns"] for row in table["rows"]) == pytest.approx(mean_ns)
    assert table["whole_ns"] == pytest.approx(mean_ns)


def test_without_the_barest_runs_a_rest_is_told() -> None:
    """Where only the store is named, what journal runs take is not explained."""
    (table,) = tiers.tables({"store": {"middle": "journal"}}, [run("journal", 4), run("database", 10)])
    assert own_ms(table)["not explained"] == pytest.approx(4)
    assert "40.0% of 10 ms is not explained" in table["says"]
    told = "\n".join(tiers.lines([table]))
    assert "where 10.00 ms go, middle=database:" in told
    assert "service with middle=database, less that with middle=journal" in told


def test_no_table_while_runs_are_missing() -> None:
    """An experiment that was interrupted has none, nor runs in which nothing came."""
    assert tiers.tables(WITHOUT, [run("router", 1), run("database", 10)]) == []
    nothing = run("journal", 4)
    nothing["figures"]["all"]["mean_ns"] = None
    assert tiers.tables(WITHOUT, [run("router", 1), nothing, run("database", 10)]) == []


def test_levels_that_there_are_not_are_mistakes(tmp_path: Path) -> None:
    """With the line and what there is."""
    file = tmp_path / "plan.yaml"
    file.write_text(PLAN)
    with pytest.raises(ConfigError) as told:
        plan.read(file)
    assert sorted(text.removeprefix(str(file)) for text in told.value.mistakes) == [
        ":8: tiers.hop.size: no factor is called 'size'; there are: load.size",
        ":8: tiers.store.load.size: no level is called '2kB'; there are: 100B, 1kB",
    ]


def test_the_summary_has_the_tables(tmp_path: Path) -> None:
    """As soon as all runs are there."""
    file = tmp_path / "plan.yaml"
    file.write_text(PLAN.replace("2kB", "100B").replace(", hop: {size: 1kB}", ""))
    folder = Folder.new(tmp_path / "results", experiment := plan.read(file))
    for number, one in enumerate(experiment.runs, 1):
        folder.begin(one)
        summary = run("", 4.0 if one.levels["load.size"] == "100B" else 10.0)
        folder.finish(one, {**summary, "number": number, "waiting": {}, **one._asdict()})
    found = json.loads((folder.path / "summary.json").read_text())["tiers"]
    assert [own_ms(table)["store"] for table in found] == [pytest.approx(6)]
    assert any("store" in line for line in folder.told())


def test_what_waits_is_what_no_receiver_has() -> None:
    """The mean over polls within the time, of all queues of a broker, also of a poll in parts."""
    waiting = Waiting()
    polls = [(1, 9, 0), (2, 5, 1), (2, 3, 3), (3, 2, 0), (4, 9, 0)]
    for at_ns, messages, delivering in polls:
        rows = [{"queue": "q", "messages": messages, "delivering": delivering}]
        waiting.take(Telemetry("s", "m", "store", "queue", at_ns, 1, at_ns, rows))
    waiting.take(Telemetry("s", "m", "store", "address", 2, 1, 2, [{"messages": 100}]))
    assert waiting.means([(2, 4)]) == {"store": 3.0}
    assert waiting.means([(7, 9)]) == {}
