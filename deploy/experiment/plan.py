"""Reads a plan and tells all its mistakes at once, those with any levels of its factors included."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collectors.config.load import ConfigError, read_text
from collectors.config.mistakes import unknown_name
from collectors.config.yaml_lines import Place, YamlFile, YamlMistake
from deploy.experiment import order, setup
from deploy.experiment.document import Json, merged, root
from deploy.experiment.form import MOST_RUNS, Plan
from deploy.experiment.lines import Lines, Told
from deploy.experiment.setup import Setup
from deploy.topology import load as topologies


@dataclass(frozen=True)
class Experiment:
    """A plan as it is run: its text, the document with a form and other files in place, and its runs."""

    text: str
    document: Json
    plan: Plan
    seed: int
    beside: Path  # where names of files are looked up
    noted: tuple[order.Run, ...] = ()  # the runs of one that was begun

    @property
    def factors(self) -> dict[str, list[Any]]:
        """The levels of each factor."""
        return {name: list(levels) for name, levels in self.plan.factors.items()}

    @property
    def runs(self) -> list[order.Run]:
        return list(self.noted) or order.runs(self.factors, self.plan.repetitions, self.seed)

    def setup(self, levels: Mapping[str, Any]) -> Setup:
        """Return what a run with these levels needs; raises ConfigError."""
        lines = Lines("the plan", lambda _place: 0)
        try:
            return setup.make(self.document, levels, lines)
        except Told:
            lines.refuse()
            raise


def read(file: Path, form: str | None = None) -> Experiment:
    """Read a plan, one of its forms where it is named; ConfigError tells every mistake."""
    text = read_text(file)
    try:
        parsed = YamlFile(text)
    except YamlMistake as mistake:
        raise ConfigError([f"{file}:{mistake.line}: {mistake.reason}"]) from None

    def line(place: Place) -> int:
        found = ("forms", form or "", *place)
        return parsed.line(found if found in parsed.lines else place)

    lines = Lines(str(file), line)
    for place, again in zip(parsed.duplicates, parsed.duplicate_lines, strict=True):
        lines.add(place, "is there twice; each name stands once", line=again)
    try:
        document = _with_topology(_in_form(parsed.value, form, lines), file.parent, lines)
        made = _experiment(text, document, file.parent, lines)
    except Told:
        lines.refuse()
        raise
    lines.refuse()
    return made


def again(text: str, document: Json, seed: int, beside: Path, runs: Iterable[order.Run]) -> Experiment:
    """Return an experiment as its folder has it; raises ConfigError."""
    lines = Lines("experiment.json", lambda _place: 0)
    plan = setup.read_plan(document, lines)
    lines.refuse()
    assert plan is not None  # noqa: S101 -- else it was refused
    return Experiment(text, document, plan, seed, beside, tuple(runs))


def _experiment(text: str, document: Json, beside: Path, lines: Lines) -> Experiment:
    plan = setup.read_plan(document, lines)
    if plan is None:
        _tell_the_rest(document, lines)
        raise Told
    seed = plan.seed if plan.seed is not None else random.SystemRandom().getrandbits(32)
    made = Experiment(text, document, plan, seed, beside)
    for place, reason in _unknown_levels(plan):
        lines.add(place, reason)
    if _factors_are_sound(plan.factors, plan.repetitions, lines):
        for levels in order.combinations(made.factors):
            with contextlib.suppress(Told):
                setup.make(document, levels, lines)
    return made


def _tell_the_rest(document: Json, lines: Lines) -> None:
    """Tell what is wrong with its parts, too, where the plan as a whole has mistakes already."""
    load, network, factors = document.get("load", {}), document.get("network"), document.get("factors", {})
    if isinstance(factors, dict) and all(isinstance(one, list | dict) for one in factors.values()):
        _factors_are_sound(factors, 1, lines)
    if isinstance(load, dict):
        with contextlib.suppress(Told):
            setup.check_load(load, lines)
    topology = network.get("topology") if isinstance(network, dict) else None
    if isinstance(topology, dict) and not any(_is_of_network(path) for path in _paths(factors)):
        with contextlib.suppress(Told):
            setup.topology(topology, lines)


def _paths(factors: Any) -> Iterator[str]:
    """Yield what may be document paths of factors, whatever else is wrong with them."""
    for name, levels in factors.items() if isinstance(factors, dict) else ():
        yield name
        for values in levels.values() if isinstance(levels, dict) else ():
            yield from map(str, values if isinstance(values, dict) else ())


def _is_of_network(path: str) -> bool:
    return path.partition(".")[0] in {"topology", "network"}


def _in_form(value: Any, form: str | None, lines: Lines) -> Json:
    if not isinstance(value, dict):
        lines.give_up((), "should hold keys and values, such as `version: 1`, `name` and `network`")
    forms = value.get("forms") or {}
    document = {key: part for key, part in value.items() if key != "forms"}
    if not (isinstance(forms, dict) and all(isinstance(one, dict) for one in forms.values())):
        lines.add(("forms",), "should hold forms by name, each with the keys that differ")
    elif form is not None and form not in forms:
        lines.add(("forms",), f"no form is called {form!r}; there are: {', '.join(forms) or 'none'}")
    elif form is not None:
        return merged(document, forms[form])
    return document


def _with_topology(document: Json, beside: Path, lines: Lines) -> Json:
    """Return the document complete without other files, but for the config of end points."""
    network = document.get("network")
    if not isinstance(network, dict):
        return document
    if isinstance(config := network.get("config"), str):
        network = {**network, "config": str((beside / config).absolute())}
    topology = network.get("topology")
    if isinstance(topology, str):
        try:
            topology = topologies.from_file(beside / topology).document
        except ConfigError as error:
            for text in error.mistakes:
                lines.add_text(text)
            raise Told from None
    if isinstance(topology, dict):
        network = {**network, "topology": {"version": 1, **topology}}
    return {**document, "network": network}


def _factors_are_sound(factors: Mapping[str, Any], repetitions: int, lines: Lines) -> bool:
    """Tell what is wrong with factors by themselves; return whether runs can be made of them."""
    before, runs = len(lines), repetitions
    for name, levels in factors.items():
        place = ("factors", name)
        runs *= max(1, len(levels))
        if not levels:
            lines.add(place, "needs at least one level")
        if isinstance(levels, dict):
            _tell_named(place, levels, lines)
        else:
            _tell_path(place, name, lines)
            if len({repr(level) for level in levels}) != len(levels):
                lines.add(place, "the same level twice")
    if runs > MOST_RUNS:
        lines.add(("factors",), f"these are {runs} runs; {MOST_RUNS} are the most")
    return len(lines) == before


def _unknown_levels(plan: Plan) -> Iterator[tuple[Place, str]]:
    """Yield what `tiers` names and the factors do not have."""
    for tier, levels in plan.tiers.items():
        for name, level in levels.items():
            if name not in plan.factors:
                yield ("tiers", tier, name), unknown_name("factor", name, plan.factors)
            elif level not in [*plan.factors[name]]:
                yield ("tiers", tier, name), unknown_name("level", str(level), map(str, plan.factors[name]))


def _tell_named(place: Place, levels: Mapping[str, Any], lines: Lines) -> None:
    for label, values in levels.items():
        if not isinstance(values, dict) or not values:
            reason = "a named level holds values by document paths, such as `load.size: 256B`"
            lines.add((*place, label), reason)
            continue
        for path in values:
            _tell_path((*place, label, path), path, lines)


def _tell_path(place: Place, path: str, lines: Lines) -> None:
    try:
        root(path)
    except ValueError as error:
        lines.add(place, str(error))
