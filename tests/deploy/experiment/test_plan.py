"""Plans: every mistake with its line, at once; the examples; what their levels make of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from collectors.config.load import ConfigError
from collectors.config.paths import resolve
from deploy.experiment import plan

EXAMPLES = Path(__file__).parents[3] / "deploy" / "examples" / "experiments"
WHOLE = """\
version: 1
name: whole
says: Is it whole?
network:
  topology:
    routers: {A: {}, B: {}}
    links: [{from: A, to: B}]
load:
  rate: 5/s
  paths:
    x: {from: A, to: B, address: x}
phases: {steady: 5s}
"""

# What is changed in WHOLE, and how its mistakes are told, from the line on.
MISTAKES = {
    "an unknown key": (
        ("load:", "laod: {}\nload:"),
        ["8: laod: unknown key; is `load` meant? known here: version"],
    ),
    "an unknown setting": (
        ("rate:", "rat:"),
        ["9: load.rat: unknown key; is `rate` meant? known here: rate"],
    ),
    "an unknown phase": (("steady:", "stedy:"), ["12: phases.stedy: unknown key; is `steady` meant?"]),
    "an unknown setting of a path": (
        ("address: x}", "address: x, siz: 1kB}"),
        ["11: load.paths.x.siz: unknown key; is `size` meant?"],
    ),
    "a router that is not there": (
        ("to: B}]", "to: C}]"),
        ["7: network.topology.links.0.to: no router or broker is called 'C'; there are: A, B"],
    ),
    "an end point that is not there": (
        ("to: B, address", "to: C, address"),
        ["11: load.paths.x.to: no endpoint is called 'C'; there are: A, B"],
    ),
    "an action on nothing": (
        ("phases:", "actions:\n  - {do: kill, what: C, for: 1s}\nphases:"),
        ["13: actions.0.what: no router or broker is called 'C'; there are: A, B"],
    ),
    "an action on a link that is not there": (
        ("phases:", "actions:\n  - {do: cut, what: A--C, for: 1s}\nphases:"),
        ["13: actions.0.what: no link is called 'A--C'; there are: A--B"],
    ),
    "nothing says how long": (
        ("phases: {steady: 5s}", "repetitions: 2"),
        ["1: phases: nothing says how long a run is: `steady`, `steps`, `ramp`, or `load.count`"],
    ),
    "a bound that is none": (
        ("phases:", "must: [p98 <= 3ms]\nphases:"),
        ["12: must.0: 'p98 <= 3ms' is not of the form `[PATH: ]FIGURE <= BOUND`, with"],
    ),
    "a factor that is no path": (
        ("phases:", "factors: {speed: [1, 2]}\nphases:"),
        ["12: factors.speed: `speed` is no document path; it begins with one of topology, network"],
    ),
    "a level that cannot be": (
        ("phases:", "factors:\n  load.size: [256B, 1B]\nphases:"),
        ["8: load.size: '1B': a message has 64B to 100MB (with load.size=1B)"],
    ),
    "two at the same time": (
        ("steady: 5s}", "steady: 5s, ramp: {from: 1/s, to: 3/s, by: 1/s, each: 1s}}"),
        ["12: phases: `steady`, `steps` and `ramp` are one instead of another"],
    ),
    "a ramp of mixed units": (
        ("steady: 5s", "ramp: {from: 1/s, to: 3/m, by: 1/s, each: 1s}"),
        ["12: phases.ramp: `from`, `to` and `by` are numbers of the same unit, and `by` is above zero"],
    ),
    "twice the same key": (
        ("says:", "name: again\nsays:"),
        ["3: name: is there twice; each name stands once"],
    ),
    "no kind of load": (
        ("rate: 5/s", "kind: strem"),
        ["9: load.kind: 'strem' is no kind of load; there are: "],
    ),
    "both kinds of network": (
        ("  topology:", "  config: x.yaml\n  topology:"),
        ["4: network: name either a `topology`, which is run as a lab, or a `config` of end points"],
    ),
    "jitter of what has no period": (
        ("address: x}", "address: x, senders: 2}\njitter: true\nactions: [{do: kill, what: B, for: 1s}]"),
        ["12: jitter: x: is of a period: a path of one sender and one receiver, at a constant rate"],
    ),
    "jitter without actions": (
        ("phases:", "jitter: true\nphases:"),
        ["12: jitter: is told of each action: name `actions`, and no steps, ramp or search"],
    ),
    "several at once": (
        ("rate: 5/s\n  paths:\n    x: {from: A", "rat: 5/s\n  paths:\n    x: {from: A"),
        ["9: load.rat: unknown key"],
    ),
}


def read(tmp_path: Path, text: str, form: str | None = None) -> plan.Experiment:
    file = tmp_path / "plan.yaml"
    file.write_text(text)
    return plan.read(file, form)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, name: str) -> None:
    """And with the key that may have been meant."""
    (old, new), told = MISTAKES[name]
    assert old in WHOLE
    with pytest.raises(ConfigError) as refused:
        read(tmp_path, WHOLE.replace(old, new, 1))
    assert len(refused.value.mistakes) == len(told)
    for found, begins in zip(refused.value.mistakes, told, strict=True):
        assert found.startswith(f"{tmp_path / 'plan.yaml'}:{begins}")


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    """Those of the plan, its load, its topology and its factors together, by line."""
    text = WHOLE.replace("version: 1", "version: 2").replace("routers: {A: {}", "routers: {A: {wokers: 3}")
    text = text.replace("rate: 5/s", "rate: 5") + "factors: {blub: [1]}\nrepetitions: 0\n"
    with pytest.raises(ConfigError) as refused:
        read(tmp_path, text)
    lines = [int(told.split(":")[1]) for told in refused.value.mistakes]
    assert lines == [1, 6, 9, 13, 14]


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yaml")), ids=lambda file: file.stem)
def test_an_example_has_no_mistakes(file: Path) -> None:
    """Neither whole nor in its small form, which takes a small part of the time."""
    from deploy.experiment import estimate  # noqa: PLC0415 -- of this test only

    whole, small = plan.read(file), plan.read(file, "small")
    assert estimate.of_all(small).seconds < estimate.of_all(whole).seconds / 10
    assert whole.plan.name == file.stem
    for form in whole.plan.forms or yaml.safe_load(whole.text)["forms"]:
        plan.read(file, form)


def test_a_form_stands_with_its_own_lines(tmp_path: Path) -> None:
    """A mistake of a form is told where the form has it, and only when it is asked for."""
    text = WHOLE + "forms:\n  small:\n    phases: {steady: 0s}\n"
    assert read(tmp_path, text).plan.phases.steady == 5_000_000_000
    with pytest.raises(ConfigError) as refused:
        read(tmp_path, text, "small")
    assert refused.value.mistakes[0].startswith(f"{tmp_path / 'plan.yaml'}:15: phases.steady: ")
    with pytest.raises(ConfigError, match="no form is called 'tiny'; there are: small"):
        read(tmp_path, text, "tiny")


def test_a_topology_may_be_a_file(tmp_path: Path) -> None:
    """Looked up beside the plan; its mistakes are told by its own name and lines."""
    document = yaml.safe_load(WHOLE)
    topology = document["network"]["topology"]
    (tmp_path / "net.yaml").write_text(yaml.safe_dump({"version": 1, **topology}))
    document["network"]["topology"] = "net.yaml"
    text = yaml.safe_dump(document)
    assert read(tmp_path, text).document["network"]["topology"]["routers"] == {"A": {}, "B": {}}
    (tmp_path / "net.yaml").write_text("version: 1\nrouters: {}\n")
    with pytest.raises(ConfigError, match=r"net\.yaml:2: routers: "):
        read(tmp_path, text)


def test_levels_make_networks_and_paths(tmp_path: Path) -> None:
    """A document path with levels, and a name whose levels set several paths."""
    text = WHOLE + (
        "factors:\n"
        "  load.size: [64B, 1kB]\n"
        "  shape:\n"
        "    line: {topology.routers: {C: {}}, topology.links: [{from: A, to: B}, {from: B, to: C}]}\n"
        "    pair: {load.rate: 7/s}\n"
    )
    made = read(tmp_path, text)
    assert len(made.runs) == 4
    line = made.setup({"load.size": "1kB", "shape": "line"})
    assert line.network is not None
    assert list(line.network.plan.routers) == ["A", "B", "C"]
    assert resolve(line.config())["x"].size == (1_000, 1_000)
    pair = made.setup({"load.size": "64B", "shape": "pair"})
    assert pair.network is not None
    assert list(pair.network.plan.routers) == ["A", "B"]
    assert resolve(pair.config())["x"].rate[0].start == 7


def test_copies_are_paths_with_addresses_of_their_own(tmp_path: Path) -> None:
    """Named by their numbers."""
    text = WHOLE.replace(
        "x: {from: A, to: B, address: x}", 'x: {from: A, to: B, address: "x/{n}", copies: 3}'
    )
    paths = resolve(read(tmp_path, text).setup({}).config())
    assert {name: path.address for name, path in paths.items()} == {"x-1": "x/1", "x-2": "x/2", "x-3": "x/3"}


def test_the_load_goes_before_the_topology(tmp_path: Path) -> None:
    """A path's own setting in the load first, then the load's, then what the topology says."""
    text = WHOLE.replace(
        "links: [", "paths: {t: {from: A, to: B, address: t, rate: 1/s, size: 99B}}\n    links: ["
    )
    text = text.replace("    x: {from: A, to: B, address: x}", "    t: {credit: 3, rate: max}")
    path = resolve(read(tmp_path, text).setup({}).config())["t"]
    assert (path.rate[0].start, path.size, path.credit) == (0, (99, 99), 3)


@pytest.mark.parametrize(
    ("phases", "rates", "seconds"),
    [
        ("{ramp: {from: 10/s, to: 30/s, by: 10/s, each: 4s}}", [10, 20, 30], [4, 4, 4]),
        ("{ramp: {from: 30/s, to: 10/s, by: 10/s, each: 4s}}", [30, 20, 10], [4, 4, 4]),
        ("{warm-up: 2s, steps: {values: [5/s, 50/s], each: 100}}", [5, 50], [20, 2]),
    ],
)
def test_steps_and_ramps_change_the_rate(
    tmp_path: Path, phases: str, rates: list[int], seconds: list[int]
) -> None:
    """By time, or by how many messages; the warm-up has the first rate, and the last one has no end."""
    setup = read(tmp_path, WHOLE.replace("{steady: 5s}", phases)).setup({})
    assert [step.duration_ns for step in setup.steps()] == [each * 10**9 for each in seconds]
    profile = resolve(setup.config())["x"].rate
    assert [step.start for step in profile] == rates
    warm_up = 2 if "warm-up" in phases else 0
    wanted = [seconds[0] + warm_up, *seconds[1:-1]]
    assert [step.duration_ns for step in profile] == [*(each * 10**9 for each in wanted), None]
