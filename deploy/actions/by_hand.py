"""What `inflight fault` does: finds the network, undoes what was left, and plays one action or a story."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from collectors.config.load import ConfigError, load
from collectors.config.mistakes import key_text, of_validation
from deploy.actions.command import Template
from deploy.actions.executor import Executor
from deploy.actions.labs import KeptLab
from deploy.actions.marking import Marks
from deploy.actions.notes import Notes
from deploy.actions.performance import Done, Tell
from deploy.actions.player import play
from deploy.actions.recovery import undo_left
from deploy.actions.several import Several
from deploy.actions.ssh import Ssh
from deploy.errors import Problem
from deploy.lab import client
from deploy.topology import load as topologies
from deploy.topology.action import HERE, SSH, Action

DONE, FAILED, NOT_BEGUN, LEFT = 0, 1, 2, 3  # exit status
_CONFIG: Final = "inflight.yaml"
_TOPOLOGY: Final = "topology.yaml"  # of a lab


@dataclass(frozen=True)
class Target:
    """A network, how things are done to it, the stories of its topology, and where what is done is marked."""

    executor: Executor
    config_file: Path
    stories: Mapping[str, Sequence[Action]] = field(default_factory=dict)


def target(
    *,
    lab: str | None = None,
    topology: Path | None = None,
    inventory: Path | None = None,
    ssh_config: Path | None = None,
    template: str | None = None,
    config: Path | None = None,
    needs_lab: bool = True,
) -> Target:
    """Return the hosts of a topology, by ssh or a template; what a template alone reaches; else a lab.

    Without `needs_lab` it may be none of these: commands and clocks are this machine's.
    """
    if lab is not None and (topology or template):
        raise Problem("--lab is one network, -t and --with are others")
    if topology is None and (inventory or ssh_config):
        raise Problem("--inventory and --ssh-config go with -t TOPOLOGY")
    if topology is not None:
        network = _topology(topology, inventory)
        ssh = Ssh(network.plan, ssh_config)
        usual = Template(template) if template else ssh
        executor = Several(usual, {SSH: ssh}, topology.parent)
        return Target(executor, _config(config), network.topology.stories)
    if template is not None:
        return Target(Several(Template(template), {}, Path.cwd()), _config(config))
    if lab is None and not needs_lab and not client.everywhere():
        return Target(Several(Template("{part}"), {}, Path.cwd()), _config(config))
    found = client.find(lab)
    kept = KeptLab(found)
    stories = _topology(found.folder / _TOPOLOGY, None).topology.stories
    return Target(Several(kept, {HERE: kept}, Path.cwd()), config or found.config_file, stories)


def action(do: str, what: str, fields: Sequence[str], **more: str | None) -> Action:
    """Make an action of words, fields as NAME=VALUE; raises Problem with every mistake in them."""
    given: dict[str, Any] = {name: value for name, value in more.items() if value is not None}
    for text in fields:
        name, found, value = text.partition("=")
        if not found:
            raise Problem(f"{text!r} is not FIELD=VALUE")
        try:
            given[name] = json.loads(value) if value[:1] in {"{", "["} else value
        except ValueError as error:
            raise Problem(f"{name} is no JSON: {error}") from None
    return read({**given, "do": do, "what": what})


def read(value: Mapping[str, Any]) -> Action:
    """Make an action of a person's fields; raises Problem with every mistake in them."""
    try:
        return Action.model_validate(dict(value))
    except ValidationError as error:
        mistakes = of_validation(Action, error)
        told = [f"{key_text(place)}: {reason}" if place else reason for place, reason in mistakes]
        raise Problem("this is no action:\n  " + "\n  ".join(told)) from None


def story(target: Target, name: str) -> Sequence[Action]:
    if name not in target.stories:
        told = ", ".join(target.stories) or "none"
        raise Problem(f"the topology has no story {name!r}; there are: {told}")
    return target.stories[name]


def carry_out(
    target: Target, actions: Sequence[Action], stopping: threading.Event, tell: Tell
) -> tuple[int, list[Done]]:
    """Undo what was left, do the actions, and return the exit status with what became of each."""
    config = _loaded(target.config_file)
    notes = Notes.of_user(target.config_file)
    with Marks(tell) as marks:
        whole = undo_left(notes, marks, tell)
        done = play(actions, target.executor, marks.to(config), stopping, tell, notes=notes)
    return _status(done, whole=whole), done


def undo_left_behind(tell: Tell) -> bool:
    """Undo what was left, and return whether all of it is."""
    with Marks(tell) as marks:
        return undo_left(Notes.of_user(), marks, tell)


def undo(tell: Tell) -> int:
    """Undo what was left, tell what goes on, and return the exit status."""
    whole = undo_left_behind(tell)
    for note in Notes.of_user().read():
        if (owner := note.content.owner).pid != os.getpid():
            tell(f"{note.content.of().text}: goes on by pid {owner.pid}, which undoes it")
    return DONE if whole else LEFT


def going_on() -> Iterator[str]:
    """Yield a line for each action that is not undone."""
    for note in Notes.of_user().read():
        content = note.content
        if content.failed:
            how = f"could not be undone: {content.failed}"
        elif content.owner.state() == "gone":
            how = f"its pid {content.owner.pid} is gone: `inflight fault undo`"
        else:
            how = f"by pid {content.owner.pid}"
        yield f"{content.began}  {content.of().text}, {how}"


def as_json(done: Done) -> str:
    told = {"do": done.action.do, "what": done.action.what}
    return json.dumps({**told, **{name: value for name, value in asdict(done).items() if name != "action"}})


def _status(done: Sequence[Done], *, whole: bool) -> int:
    if not whole or any(one.left for one in done):
        return LEFT
    if not any(one.problem for one in done):
        return DONE
    return FAILED if any(one.began_ns for one in done) else NOT_BEGUN


def _config(given: Path | None) -> Path:
    return given or Path(os.environ.get("INFLIGHT_CONFIG") or _CONFIG)


def _loaded(file: Path) -> Any:
    try:
        return load(file)
    except ConfigError as error:
        if not file.exists():
            raise Problem(
                f"{file}: no such config, and what is done is to be marked: name one by -c"
            ) from None
        raise Problem("the config cannot be used:\n  " + "\n  ".join(error.mistakes)) from None


def _topology(file: Path, inventory: Path | None) -> topologies.Network:
    try:
        return topologies.from_file(file, inventory)
    except ConfigError as error:
        raise Problem("the topology cannot be used:\n  " + "\n  ".join(error.mistakes)) from None
