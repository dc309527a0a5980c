"""Reads a plan, tells all its mistakes at once with their lines, and makes of it what each run needs."""

from __future__ import annotations

import contextlib
import difflib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NoReturn

import yaml
from pydantic import ValidationError

from collectors.config import load as configs
from collectors.config.load import ConfigError, read_text
from collectors.config.mistakes import Mistake, of_validation, unknown_name
from collectors.config.model import Config
from collectors.config.yaml_lines import Place, YamlFile, YamlMistake
from collectors.router.topology import EXPECT_SEPARATOR, pair, parse_expected
from deploy.experiment import load as loads
from deploy.experiment import order
from deploy.experiment.document import Json, changed, merged, root
from deploy.experiment.form import MOST_RUNS, Plan
from deploy.experiment.load import Step
from deploy.topology import load as topologies
from deploy.topology.mistakes import Source
from deploy.topology.outputs import monitor
from deploy.topology.plan import CLIENTS

STORY: Final = "experiment"  # the plan's actions, as a story of its topology
_TOPOLOGY: Final = ("network", "topology")
_KNOWN: Final = "unknown key; known here: "


@dataclass(frozen=True)
class Setup:
    """What a run with certain levels needs, checked."""

    document: Json
    plan: Plan
    network: topologies.Network | None  # of a lab
    base: Json  # the network's config, with the ports of its hosts; a lab has its own

    def made(self, base: Json | None = None) -> Json:
        """Return the config with the load's paths, on this network or on a lab's; raises ConfigError."""
        try:
            return self.kind.config(base or self.base, self.document.get("load", {}), self._rates())
        except ValueError as error:
            raise ConfigError([f"load: {error}"]) from None

    def config(self, made: Json | None = None) -> Config:
        """Return it, read; raises ConfigError."""
        text = yaml.safe_dump(made or self.made(), sort_keys=False, allow_unicode=True)
        return configs.parse(text, "load")

    @property
    def kind(self) -> loads.Kind:
        return loads.kind_of(self.document.get("load", {}))

    def steps(self) -> list[Step]:
        """Return the parts of the measured time."""
        sequence = self.plan.phases.sequence
        if sequence is None:
            return [Step(None, self.plan.phases.steady)]
        return [Step(value, sequence.each_ns(value)) for value in sequence.values]

    def _rates(self) -> list[tuple[Any, int | None]]:
        sequence = self.plan.phases.sequence
        if sequence is None or sequence.of != "load.rate":
            return []
        first, *others = [(step.value, step.duration_ns or 0) for step in self.steps()]
        return [(first[0], first[1] + (self.plan.phases.warm_up or 0)), *others]


@dataclass(frozen=True)
class Experiment:
    """A plan as it is run: its text, the document with a form and other files in place, and its runs."""

    text: str
    document: Json
    plan: Plan
    seed: int
    beside: Path  # where names of files are looked up

    @property
    def factors(self) -> dict[str, list[Any]]:
        """The levels of each factor."""
        return {name: list(levels) for name, levels in self.plan.factors.items()}

    @property
    def runs(self) -> list[order.Run]:
        return order.runs(self.factors, self.plan.repetitions, self.seed)

    def setup(self, levels: Mapping[str, Any]) -> Setup:
        """Return what a run with these levels needs; raises ConfigError."""
        return _setup(self.document, levels, _Lines("plan.yaml", lambda _place: 0))


class _Lines:
    """Collects mistakes with their lines."""

    def __init__(self, file: str, line: Any) -> None:
        self.file, self.line = file, line
        self.told: dict[tuple[int, str], None] = {}

    def add(self, place: Place, reason: str, when: str = "") -> None:
        line = self.line(place)
        text = ".".join(map(str, place)) or "the file"
        self.told[line, f"{self.file}:{line}: {text}: {_with_nearest(place, reason)}{when}"] = None

    def add_text(self, text: str, when: str = "") -> None:
        self.told[1 << 30, text + when] = None

    def refuse(self) -> None:
        if self.told:
            raise ConfigError([text for _, text in sorted(self.told, key=lambda one: one[0])])


def read(file: Path, form: str | None = None) -> Experiment:
    """Read a plan, one of its forms where it is named; ConfigError tells every mistake."""
    text = read_text(file)
    try:
        parsed = YamlFile(text)
    except YamlMistake as mistake:
        raise ConfigError([f"{file}:{mistake.line}: {mistake.reason}"]) from None

    def line(place: Place) -> int:
        found = ("forms", form, *place)
        return int(parsed.line(found if found in parsed.lines else place))

    lines = _Lines(str(file), line)
    for place in parsed.duplicates:
        lines.add(place, "is there twice; each name stands once")
    if not isinstance(parsed.value, dict):
        lines.add((), "should hold keys and values, such as `version: 1`, `name` and `network`")
        lines.refuse()
    document = _in_form(parsed.value, form, lines)
    document = _with_topology(document, file.parent, lines)
    plan = _plan(document, lines)
    if plan is None:
        _tell_the_rest(document, lines)
        lines.refuse()
    return _checked(text, document, _sure(plan), file.parent, lines)


def _tell_the_rest(document: Json, lines: _Lines) -> None:
    """Tell what is wrong with load and topology, too, where the plan as a whole has mistakes already."""
    load, network = document.get("load", {}), document.get("network")
    with contextlib.suppress(_Told):
        if isinstance(load, dict):
            _check_form(load, lines, "")
    if not document.get("factors") and isinstance(network, dict) and isinstance(network.get("topology"), dict):
        with contextlib.suppress(_Told):
            _topology(network["topology"], lines, "")


def again(text: str, document: Json, seed: int, beside: Path) -> Experiment:
    """Return an experiment as its folder has it; raises ConfigError."""
    lines = _Lines("experiment.json", lambda _place: 0)
    plan = _plan(document, lines)
    lines.refuse()
    return Experiment(text, document, _sure(plan), seed, beside)


def _checked(text: str, document: Json, plan: Plan, beside: Path, lines: _Lines) -> Experiment:
    seed = plan.seed if plan.seed is not None else random.SystemRandom().getrandbits(32)
    made = Experiment(text, document, plan, seed, beside)
    if _factors_are_sound(plan, lines):
        for levels in order.combinations(made.factors):
            _setup(document, levels, lines, told=True)
    lines.refuse()
    return made


def _in_form(value: Json, form: str | None, lines: _Lines) -> Json:
    forms = value.get("forms")
    document = {key: part for key, part in value.items() if key != "forms"}
    if forms is not None and not (
        isinstance(forms, dict) and all(isinstance(one, dict) for one in forms.values())
    ):
        lines.add(("forms",), "should hold forms by name, each with the keys that differ")
        return document
    if form is None:
        return document
    if form not in (forms or {}):
        lines.add(("forms",), f"no form is called {form!r}; there are: {', '.join(forms or {}) or 'none'}")
        return document
    return merged(document, forms[form])


def _with_topology(document: Json, beside: Path, lines: _Lines) -> Json:
    """Return the document complete without other files, but for an end points' config."""
    network = document.get("network")
    if not isinstance(network, dict):
        return document
    if isinstance(network.get("config"), str):
        return {**document, "network": {**network, "config": str((beside / network["config"]).absolute())}}
    topology = network.get("topology")
    if isinstance(topology, str):
        try:
            topology = topologies.from_file(beside / topology).document
        except ConfigError as error:
            for text in error.mistakes:
                lines.add_text(text)
            topology = {}
    if isinstance(topology, dict):
        return {**document, "network": {**network, "topology": {"version": 1, **topology}}}
    return document


def _plan(document: Json, lines: _Lines) -> Plan | None:
    try:
        plan = Plan.model_validate(document)
    except ValidationError as error:
        for place, reason in of_validation(Plan, error):
            lines.add(_own(place), reason)
        return None
    return plan


def _own(place: Place) -> Place:
    """Return a place without the words that a union of types adds."""
    return tuple(part for part in place if not str(part).startswith(("dict[", "list[")))


def _factors_are_sound(plan: Plan, lines: _Lines) -> bool:
    """Tell what is wrong with factors by themselves; return whether runs can be made of them."""
    before = len(lines.told)
    runs = plan.repetitions
    for name, levels in plan.factors.items():
        place = ("factors", name)
        runs *= max(1, len(levels))
        if not levels:
            lines.add(place, "needs at least one level")
        if isinstance(levels, dict):
            for label, values in levels.items():
                if not isinstance(values, dict) or not values:
                    lines.add((*place, label), "a named level holds values by document paths, like load.size")
                    continue
                for path in values:
                    _tell_path((*place, label, path), path, lines)
        else:
            _tell_path(place, name, lines)
            if len({repr(level) for level in levels}) != len(levels):
                lines.add(place, "the same level twice")
    if runs > MOST_RUNS:
        lines.add(("factors",), f"these are {runs} runs; {MOST_RUNS} are the most")
    return len(lines.told) == before


def _tell_path(place: Place, path: str, lines: _Lines) -> None:
    try:
        root(path)
    except ValueError as error:
        lines.add(place, str(error))


def values_of(document: Json, levels: Mapping[str, Any]) -> Json:
    """Return what a run's levels set, by document paths."""
    found: Json = {}
    for name, level in levels.items():
        named = document["factors"][name]
        found |= named[level] if isinstance(named, dict) else {name: level}
    return found


def _setup(document: Json, levels: Mapping[str, Any], lines: _Lines, *, told: bool = False) -> Setup:
    """Make what a run needs; with `told`, mistakes are collected and nothing is raised."""
    when = f" (with {', '.join(f'{name}={level}' for name, level in levels.items())})" if levels else ""
    here = lines if told else _Lines(lines.file, lines.line)
    try:
        return _made(document, levels, here, when)
    except _Told:
        if not told:
            here.refuse()
        return None  # type: ignore[return-value]  # only where the caller does not look at it


class _Told(Exception):  # noqa: N818 -- what is wrong was told
    pass


def _made(document: Json, levels: Mapping[str, Any], lines: _Lines, when: str) -> Setup:
    try:
        document = changed(document, values_of(document, levels))
    except ValueError as error:
        _give_up(lines, ("factors",), str(error))
    plan = _plan(document, lines)
    if plan is None:
        raise _Told
    _check_load(document.get("load", {}), plan, lines, when)
    network, base = _network(document, plan, lines, when)
    setup = Setup(document, plan, network, base)
    try:
        setup.config()
    except ConfigError as error:
        for text in error.mistakes:
            lines.add(*_place_of(text, lines), when)
        raise _Told from None
    return setup


def _check_load(load: Json, plan: Plan, lines: _Lines, when: str) -> None:
    _check_form(load, lines, when)
    timed = plan.phases.steady or plan.phases.sequence
    if not timed and load.get("count") is None and plan.search is None:
        _give_up(
            lines, ("phases",), "nothing says how long a run is: `steady`, `steps`, `ramp`, or `load.count`"
        )


def _check_form(load: Json, lines: _Lines, when: str) -> None:
    try:
        kind = loads.kind_of(load)
    except ValueError as error:
        _give_up(lines, ("load", "kind"), str(error))
    try:
        kind.form.model_validate(load)
    except ValidationError as error:
        for place, reason in of_validation(kind.form, error):
            lines.add(("load", *_own(place)), reason, when)
        raise _Told from None


def _network(document: Json, plan: Plan, lines: _Lines, when: str) -> tuple[topologies.Network | None, Json]:
    if plan.network.config is not None:
        try:
            configs.load(plan.network.config)
        except ConfigError as error:
            for text in error.mistakes:
                lines.add_text(text)
            raise _Told from None
        return None, yaml.safe_load(read_text(plan.network.config))
    value = dict(document["network"]["topology"])
    if document.get("actions"):
        value["stories"] = {**value.get("stories", {}), STORY: document["actions"]}
    network = _topology(value, lines, when)
    _check_targets(plan, network, lines, when)
    return network, monitor.config(network.plan)


def _topology(value: Json, lines: _Lines, when: str) -> topologies.Network:
    found: list[Mistake] = []
    source = replace(Source("plan"), line=lambda place: found.append((place, "")) or 0)
    try:
        return topologies.made(value, source)
    except ConfigError as error:
        # The texts are in the order of lines, which are all the same here, and so of places.
        for text in error.mistakes:
            where, _, reason = text.removeprefix("plan:0: ").partition(": ")
            lines.add(_in_plan(where, found), reason, when)
        raise _Told from None


def _check_targets(plan: Plan, network: topologies.Network, lines: _Lines, when: str) -> None:
    """Tell actions on parts and links that are not there; what a command of the user's is for, only he knows."""
    parts = {*network.plan.routers, *network.plan.brokers}
    links = {pair(one, other).id for one, other, _ in network.plan.links()}
    links |= {pair(CLIENTS, part).id for part in parts}
    for number, action in enumerate(plan.actions):
        of_link = EXPECT_SEPARATOR in action.what
        known = links if of_link else parts
        what = pair(*parse_expected(action.what)).id if of_link else action.what
        if action.do not in {"command", "clock"} and what not in known:
            reason = unknown_name("link" if of_link else "router or broker", action.what, sorted(known))
            lines.add(("actions", number, "what"), reason, when)


def _in_plan(where: str, places: Sequence[Mistake]) -> Place:
    """Return the place in the plan of a place in its topology, which is told as text."""
    place = next((one for one, _ in places if (".".join(map(str, one)) or "the file") == where), ())
    if place[:2] == ("stories", STORY):
        return ("actions", *place[2:])
    return (*_TOPOLOGY, *place)


def _place_of(text: str, lines: _Lines) -> tuple[Place, str]:
    """Return where in the plan a mistake of the config that follows from it stands, and its reason."""
    where, _, reason = text.partition(": ")
    if not where.startswith("load:"):
        return ("load",), reason
    where, _, reason = reason.partition(": ")
    words = tuple(where.split("."))
    if words[:1] == ("paths",):
        for place in (("load", *words), ("load", *words[2:]), (*_TOPOLOGY, *words)):
            if lines.line(place) != lines.line(place[:-1]):
                return place, reason
    return ("load", *(words[1:] if words[:1] == ("defaults",) else words)), reason


def _give_up(lines: _Lines, place: Place, reason: str) -> NoReturn:
    lines.add(place, reason)
    raise _Told


def _with_nearest(place: Place, reason: str) -> str:
    """Return the reason; that of an unknown key with the one that may be meant."""
    if not reason.startswith(_KNOWN):
        return reason
    known = reason.removeprefix(_KNOWN)
    near = difflib.get_close_matches(str(place[-1]), known.split(", "), 1)
    return f"unknown key; is `{near[0]}` meant? known here: {known}" if near else reason


def _sure(plan: Plan | None) -> Plan:
    if plan is None:
        raise RuntimeError("a plan with mistakes was not refused")
    return plan
