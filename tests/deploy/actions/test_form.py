"""Every rule of an action, by the message that tells of its breach; and of stories in a topology."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from acting import action
from click.testing import CliRunner

from deploy.actions.by_hand import read
from deploy.cli import main
from deploy.errors import Problem
from deploy.topology.action_kinds import KINDS

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "no such kind": ({"do": "explode", "what": "A"}, "do: should be 'kill', 'stop',"),
    "a link where a part is meant": (
        {"do": "kill", "what": "A--B"},
        "what: `kill` is done to a part, not to a link",
    ),
    "a part where a link is meant": (
        {"do": "cut", "what": "A"},
        "what: `cut` is done to a link, not to a part",
    ),
    "a name for a shell": (
        {"do": "kill", "what": "B; rm -rf /"},
        "what: 'B; rm -rf /' is no part's name, nor a link like A--B",
    ),
    "a name like an option": ({"do": "kill", "what": "-rf"}, "what: '-rf' is no part's name"),
    "a field of another kind": (
        {"do": "kill", "what": "A", "ms": 5},
        "ms: is not for `kill`, which has no fields of its own",
    ),
    "a field that is missing": ({"do": "delay", "what": "A--B"}, "`delay` needs `ms`"),
    "a field out of bounds": (
        {"do": "loss", "what": "A--B", "percent": 101},
        "percent: is a number from 0 to 100, not 101",
    ),
    "an unknown key": (
        {"do": "kill", "what": "A", "until": "5s"},
        "until: unknown key; known here: do, what, after, for,",
    ),
    "no duration": ({"do": "kill", "what": "A", "for": "soon"}, "for: 'soon' is not a duration"),
    "nothing undoes it": (
        {"do": "restart", "what": "A", "for": "5s"},
        "`for` is not for `restart`: nothing undoes it",
    ),
    "a command that nothing undoes": (
        {"do": "command", "what": "A", "run": "x", "for": "5s"},
        "`for` is not for `command`: nothing undoes it",
    ),
    "a quote that is not closed": (
        {"do": "command", "what": "A", "run": "echo 'x"},
        "run: No closing quotation",
    ),
    "a branch": (
        {"do": "command", "what": "A", "run": "x", "from": {"git": "https://h/r", "commit": "main"}},
        "from.commit: a commit is its full id",
    ),
    "a repository without a commit": (
        {"do": "command", "what": "A", "run": "x", "from": {"git": "https://h/r"}},
        "from: a `git` repository needs its `commit`, in full",
    ),
    "a password in a repository": (
        {"do": "command", "what": "A", "run": "x", "from": {"git": "https://u:p@h/r", "commit": COMMIT}},
        "from.git: a repository is https://…, ssh://… or file://…, with no password in it",
    ),
    "a repository that runs something": (
        {"do": "command", "what": "A", "run": "x", "from": {"git": "ext::sh -c x", "commit": COMMIT}},
        "from.git: a repository is https://…, ssh://… or file://…, with no password in it",
    ),
    "no variable": (
        {"do": "command", "what": "A", "run": "x", "secrets": ["A B"]},
        "secrets.0: String should match pattern",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_its_key(name: str) -> None:
    """In the words for a person, and without what may be a password."""
    given, told = MISTAKES[name]
    with pytest.raises(Problem) as problem:
        read(given)
    assert f"\n  {told}" in problem.value.message
    assert "u:p@" not in problem.value.message


def test_a_link_has_its_ends_in_order() -> None:
    """So that it is the one of `expect`, and of the lab."""
    assert action("cut", "B--A").what == "A--B"
    assert action("cut", "A--B").what == "A--B"


def test_every_kind_can_be_written() -> None:
    """With its fields, and its sentences can be made of them."""
    values = {
        "ms": 5,
        "bytes_per_second": 1_000,
        "to": "C",
        "percent": 5,
        "offset_ms": -20,
        "file": "clock",
        "run": "x",
    }
    for verb, kind in KINDS.items():
        whom = "A--B" if kind.of == "link" else "A"
        made = action(verb, whom, **{name: values[name] for name in kind.needs})
        sentence = {name: values.get(name, "") for name in values} | {"program": "x"}
        for text in (kind.began, kind.lasted, kind.over):
            assert whom in text.format(what=whom, time="5 s", **sentence)
        assert made.can_be_undone == (kind.undo is not None)


def test_at_once() -> None:
    """As people write it in a list whose other actions come later."""
    assert action("kill", "A", after="0s").after == 0
    assert action("kill", "A", after="2s").after == 2_000_000_000


STORIES = """version: 1
routers: {A: {}, B: {}}
brokers: {store: {}}
links:
- {from: A, to: B}
- {from: B, to: store, queues: [q]}
stories:
  fine:
  - {do: kill, what: B, after: 5s, for: 10s}
  - {do: cut, what: store--B, for: 10s}
  - {do: cut, what: clients--A, for: 10s}
  wrong:
  - {do: kill, what: C}
  - {do: cut, what: A--store}
  - {do: move, what: A--B, to: D}
  - {do: kill, what: A, for: ever}
"""


def test_topology_check_tells_mistakes_in_stories(tmp_path: Path) -> None:
    """With file, line and key, as of anything else in the file."""
    file = tmp_path / "t.yaml"
    file.write_text(STORIES)
    done = CliRunner().invoke(main, ["topology", str(file), "check"])
    assert done.exit_code == 1
    assert f"{file}:16: stories.wrong.3.for: 'ever' is not a duration" in done.output
    file.write_text(STORIES.replace("for: ever", "for: 1s"))
    done = CliRunner().invoke(main, ["topology", str(file), "check"])
    assert done.output.splitlines()[:3] == [
        f"{file}:13: stories.wrong.0.what: no router or broker is called 'C'; there are: A, B, store",
        f"{file}:14: stories.wrong.1.what: no link is called 'A--store'; there are: A--B, B--store",
        f"{file}:15: stories.wrong.2.to: no router or broker is called 'D'; there are: A, B, store",
    ]


def test_stories_stay_in_what_is_written(tmp_path: Path) -> None:
    """The topology that is written makes everything again, stories too."""
    file = tmp_path / "t.yaml"
    file.write_text(STORIES[: STORIES.index("  wrong:")])
    out = tmp_path / "net"
    done = CliRunner().invoke(main, ["topology", str(file), "write", "--out", str(out)])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(main, ["topology", str(out / "topology.yaml"), "check"])
    assert done.exit_code == 0, done.output
    assert "{do: kill, what: B" in STORIES
    assert "do: kill" in (out / "topology.yaml").read_text()
