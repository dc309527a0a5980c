"""`inflight check`, as a person calls it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from deploy.cli import main

ROOT = Path(__file__).parents[2]


def test_a_right_config_ends_with_0() -> None:
    """The annotated example is right, and the answer says what was found."""
    result = CliRunner().invoke(main, ["check", str(ROOT / "deploy/examples/inflight.yaml")])
    assert result.exit_code == 0
    assert "right. 4 paths, 1 meshes, 1 brokers" in result.output


def test_a_wrong_config_ends_with_1_and_tells_all(tmp_path: Path) -> None:
    """Each mistake has a line of its own."""
    file = tmp_path / "inflight.yaml"
    file.write_text("version: 2\nsite: ''\n")
    result = CliRunner().invoke(main, ["check", str(file)])
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f"{file}:1: version: should be 1",
        f"{file}:2: site: a name has 1 to 128 printable characters",
        f"inflight: 2 mistakes in {file}",
    ]


def test_misuse_ends_with_2() -> None:
    """An option that does not exist is misuse."""
    assert CliRunner().invoke(main, ["check", "--no-such-option"]).exit_code == 2


def test_every_command_has_help_a_newcomer_can_act_on() -> None:
    """`--help` of each sub-command, and of those below it, says in a sentence what it is for."""
    listing = CliRunner().invoke(main, ["--help"]).output.splitlines()
    for words, command in _commands((), main):
        result = CliRunner().invoke(main, [*words, "--help"])
        assert result.exit_code == 0, words
        assert result.output.startswith("Usage: ")
        paragraph = " ".join((command.help or "").partition("\n\n")[0].split())
        assert re.search(r"\w+ \w+ \w+.*[.:?]$", paragraph), words
        if len(words) == 1 and not command.hidden:
            assert any(re.match(rf" +{words[0]}  +\S", line) for line in listing), words


def _commands(words: tuple[str, ...], group: click.Group) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*words, name), command
        if isinstance(command, click.Group):
            yield from _commands((*words, name), command)
