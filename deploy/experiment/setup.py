"""What a run with certain levels needs: its network, its load's paths and its phases, checked together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError

from collectors.config import load as configs
from collectors.config.load import ConfigError, read_text
from collectors.config.mistakes import key_text, of_validation
from collectors.config.model import Config
from collectors.config.paths import resolve
from collectors.config.yaml_lines import Place
from deploy.experiment import load as loads
from deploy.experiment.document import Json, changed
from deploy.experiment.form import Plan, Ramp, Steps
from deploy.experiment.jitter import refused
from deploy.experiment.lines import Lines, Told, without_types
from deploy.experiment.load import Step
from deploy.topology import load as topologies
from deploy.topology.mistakes import Source
from deploy.topology.outputs import monitor

STORY: Final = "experiment"  # the plan's actions, as a story of its topology
TOPOLOGY: Final = ("network", "topology")
_CONFIG: Final = "load"  # how messages call the config that follows from a plan


@dataclass(frozen=True)
class Setup:
    """The plan of one run, with its levels in place."""

    document: Json
    plan: Plan
    network: topologies.Network | None  # of a lab
    base: Json  # the network's config, with the ports of its hosts; a lab has its own

    @property
    def load(self) -> Json:
        return dict(self.document.get("load", {}))

    @property
    def kind(self) -> loads.Kind:
        return loads.kind_of(self.load)

    def made(self, base: Json | None = None, rate: str | None = None) -> Json:
        """Return a config with the load's paths, on this network or on a lab's; raises ConfigError.

        All paths have the rate, where one is given.
        """
        try:
            return self.kind.config(base or self.base, self.load, [(rate, None)] if rate else self._rates())
        except ValueError as error:
            raise ConfigError([f"load: {error}"]) from None

    def config(self, made: Json | None = None) -> Config:
        """Return it, read; raises ConfigError."""
        text = yaml.safe_dump(made or self.made(), sort_keys=False, allow_unicode=True)
        return configs.parse(text, _CONFIG)

    def steps(self) -> list[Step]:
        """Return the parts of the measured time."""
        sequence = self.plan.phases.sequence
        if sequence is None:
            return [Step(None, self.plan.phases.steady)]
        return [Step(value, sequence.each_ns(value)) for value in sequence.values]

    def in_turn(self) -> list[tuple[Any, Setup]]:
        """Return each value that takes a load of its own, with what that needs; raises ConfigError."""
        sequence = self.plan.phases.sequence
        if sequence is None or sequence.is_rate:
            return []
        found = []
        for value in sequence.values:
            lines = Lines("the plan", lambda _place: 0)
            try:
                found.append((value, make(_stepped(self.document, sequence, value), {}, lines)))
            except Told:
                lines.refuse()
        return found

    def _rates(self) -> list[tuple[Any, int | None]]:
        sequence = self.plan.phases.sequence
        if sequence is None or not sequence.is_rate:
            return []
        first, *others = [(step.value, step.duration_ns or 0) for step in self.steps()]
        return [(first[0], first[1] + (self.plan.phases.warm_up or 0)), *others]


def read_plan(document: Json, lines: Lines) -> Plan | None:
    """Return the plan of a document, None where its mistakes were told."""
    try:
        return Plan.model_validate(document)
    except ValidationError as error:
        for place, reason in of_validation(Plan, error):
            lines.add(without_types(place), reason)
        return None


def values_of(document: Json, levels: Mapping[str, Any]) -> Json:
    """Return what a run's levels set, by document paths."""
    found: Json = {}
    for name, level in levels.items():
        named = document["factors"][name]
        found |= named[level] if isinstance(named, dict) else {name: level}
    return found


def make(document: Json, levels: Mapping[str, Any], lines: Lines) -> Setup:
    """Return what a run with these levels needs; raises Told once mistakes were added to the lines."""
    named = ", ".join(f"{name}={level}" for name, level in levels.items())
    when = f" (with {named})" if named else ""
    try:
        document = changed(document, values_of(document, levels))
    except ValueError as error:
        lines.give_up(("factors",), str(error), when)
    plan = read_plan(document, lines)
    if plan is None:
        raise Told
    check_load(document.get("load", {}), lines, when)
    timed = plan.phases.steady or plan.phases.sequence or plan.search
    if not timed and document.get("load", {}).get("count") is None:
        reason = "nothing says how long a run is: `steady`, `steps`, `ramp`, or `load.count`"
        lines.give_up(("phases",), reason, when)
    setup = Setup(document, plan, *_network(document, plan, lines, when))
    try:
        config = setup.config()
        setup.in_turn()
    except ConfigError as error:
        for text in error.mistakes:
            lines.add(*_place_of(text, lines), when)
        raise Told from None
    if plan.jitter:
        _tell_jitter(plan, config, lines, when)
    return setup


def _tell_jitter(plan: Plan, config: Config, lines: Lines, when: str) -> None:
    """Tell why there would be no jitter to measure; raises Told then."""
    paths = resolve(config)
    reasons = [f"{name}: {why}" for name, path in paths.items() if (why := refused(path))]
    if not paths:
        reasons.append("is of streams: this load has no paths of its own")
    if not plan.actions or plan.phases.sequence or plan.search:
        reasons.append("is told of each action: name `actions`, and no steps, ramp or search")
    for reason in reasons:
        lines.add(("jitter",), reason, when)
    if reasons:
        raise Told


def _stepped(document: Json, sequence: Steps | Ramp, value: Any) -> Json:
    """Return the document of one value of a setting, steady."""
    phases = {"warm-up": document["phases"]["warm-up"]} if "warm-up" in document["phases"] else {}
    made = changed(document, {sequence.of: value})
    return {**made, "phases": {**phases, "steady": sequence.each}}


def check_load(load: Json, lines: Lines, when: str = "") -> None:
    """Tell what is wrong with the load by itself; raises Told where something is."""
    try:
        kind = loads.kind_of(load)
    except ValueError as error:
        lines.give_up(("load", "kind"), str(error), when)
    if mistakes := kind.mistakes(load):
        for place, reason in mistakes:
            lines.add(("load", *without_types(place)), reason, when)
        raise Told


def topology(value: Json, lines: Lines, when: str = "") -> topologies.Network:
    """Return the network of a topology's document; raises Told where it is none."""
    places: dict[str, Place] = {}

    def note(place: Place) -> int:
        places[key_text(place)] = place
        return 1

    source = Source("", note)
    try:
        return topologies.made(value, source)
    except ConfigError as error:
        for text in error.mistakes:
            where, _, reason = text.removeprefix(":1: ").partition(": ")
            lines.add(_in_plan(places.get(where, ())), reason, when)
        raise Told from None


def _network(document: Json, plan: Plan, lines: Lines, when: str) -> tuple[topologies.Network | None, Json]:
    if plan.network.config is not None:
        return None, _given_config(plan.network.config, lines)
    value = dict(document["network"]["topology"])
    if document.get("actions"):
        value["stories"] = {**value.get("stories", {}), STORY: document["actions"]}
    network = topology(value, lines, when)
    return network, monitor.config(network.plan)


def _given_config(file: Path, lines: Lines) -> Json:
    try:
        configs.load(file)
        found = yaml.safe_load(read_text(file))
    except ConfigError as error:
        for text in error.mistakes:
            lines.add_text(text)
        raise Told from None
    return dict(found)


def _in_plan(place: Place) -> Place:
    """Return where in the plan a place of its topology stands."""
    return ("actions", *place[2:]) if place[:2] == ("stories", STORY) else (*TOPOLOGY, *place)


def _place_of(text: str, lines: Lines) -> tuple[Place, str]:
    """Return where in the plan a mistake of the config that follows from it stands, and its reason."""
    where, _, reason = text.partition(": ")
    if not where.startswith(f"{_CONFIG}:"):
        return ("load",), reason
    where, _, reason = reason.partition(": ")
    words: Sequence[str] = where.split(".")
    if words[0] != "paths":
        return ("load", *(words[1:] if words[0] == "defaults" else words)), reason
    for place in (("load", *words), ("load", *words[2:]), (*TOPOLOGY, *words)):
        if lines.line(place) != lines.line(place[:-1]):
            return place, reason
    return ("load", *words), reason
