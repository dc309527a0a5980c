"""`inflight check`, as a person calls it."""

from __future__ import annotations

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
    """`--help` of each sub-command works and says more than its options."""
    listing = CliRunner().invoke(main, ["--help"])
    names = main.list_commands(click.Context(main))
    for name in names:
        result = CliRunner().invoke(main, [name, "--help"])
        assert result.exit_code == 0, name
        command = main.get_command(click.Context(main), name)
        assert command.help, name
        assert command.hidden or name in listing.output
