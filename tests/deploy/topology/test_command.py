"""`inflight topology` as a command."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deploy.commands.check import command as check
from deploy.commands.topology import command


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_from_a_shape_to_a_monitor(tmp_path: Path) -> None:
    """What --out writes is checked by `inflight check`, and can be read and written again."""
    first = run(
        "ring", "--routers", "5", "--broker", "store@B", "--program", "skrouterd", "--out", tmp_path / "x"
    )
    assert first.exit_code == 0, first.output
    assert CliRunner().invoke(check, [str(tmp_path / "x" / "inflight.yaml")]).exit_code == 0
    again = run(tmp_path / "x" / "topology.yaml", "--out", tmp_path / "y")
    assert again.exit_code == 0, again.output
    one, other = (
        {f.relative_to(folder): f.read_text() for f in folder.rglob("*") if f.is_file()}
        for folder in (tmp_path / "x", tmp_path / "y")
    )
    assert one == other
    assert Path("hosts/B/skrouterd.conf") in one


def test_show_is_the_default_and_draws_on_request(tmp_path: Path) -> None:
    done = run("star", "--svg", tmp_path / "p.svg")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("star: 3 routers (qdrouterd), 0 brokers, 2 links\n")
    assert (tmp_path / "p.svg").read_text().startswith("<svg ")


def test_a_shape_of_an_inventory(tmp_path: Path) -> None:
    """Names and hosts are the inventory's, as many as it has or as asked for."""
    hosts = tmp_path / "hosts"
    hosts.write_text("[routers]\nr1 ansible_host=10.0.0.1\nr2 ansible_host=10.0.0.2\nr3\n[brokers]\nb1\n")
    done = run("complete", "--inventory", hosts)
    assert done.exit_code == 0, done.output
    assert "complete: 3 routers (qdrouterd), 1 broker, 4 links" in done.output
    assert "10.0.0.2:5672" in done.output
    assert "2 routers" in run("complete", "--inventory", hosts, "--routers", "2").output
    assert run("complete", "--inventory", hosts, "--routers", "4").exit_code == 2


def test_check_tells_all_mistakes(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text("version: 1\nrouters: {A: {}, B: {}}\n")
    done = run(file, "check")
    assert done.exit_code == 1
    assert f"{file}:2: routers.B: not connected to A: no chain of `links` leads there\n" in done.output
    file.write_text("version: 1\nrouters: {A: {}}\n")
    done = run(file, "check")
    assert (done.exit_code, done.output) == (0, f"{file}: right. 1 routers, 0 brokers.\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["ring", "write"], "--out DIR and `write` go together"),
        (["ring", "check", "--out", "x"], "--out DIR and `write` go together"),
        (["ring", "check", "--svg", "x.svg"], "--svg is for `show`"),
        (["circle"], "circle: no such file, and no shape; shapes are line, ring, star, complete, tree"),
        ([__file__, "--routers", "3"], "--routers and --broker are for a shape"),
        (["ring", "--broker", "s@Z"], "ring: links.3.from: no router or broker is called 'Z'"),
        (["ring", "--broker", "A"], "ring: brokers.A: a router has this name, too"),
        (["ring", "--inventory", "nowhere"], "nowhere: cannot be read: No such file or directory"),
    ],
)
def test_misuse_is_told_without_a_traceback(arguments: list[str], told: str) -> None:
    done = run(*arguments)
    assert done.exit_code in {1, 2}
    assert told in done.output
    assert "Traceback" not in done.output


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("line", "--out", tmp_path / "file" / "x")
    assert done.exit_code == 2
    assert "cannot write" in done.output


def test_the_example_in_the_readme_is_right(tmp_path: Path) -> None:
    """With every key of the form."""
    readme = Path(__file__).parents[3] / "deploy" / "topology" / "README.md"
    example = readme.read_text().split("## The form\n\n")[1].split("\n\n| of a link")[0]
    (tmp_path / "prod.yaml").write_text(textwrap.dedent(example))
    (tmp_path / "hosts.ini").write_text("[all]\neast ansible_port=2222\n")
    done = run(tmp_path / "prod.yaml", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    told = (tmp_path / "out" / "inventory.ini").read_text()
    assert "hub-east ansible_host=10.0.0.1 ansible_port=2222 ansible_user=ops" in told
    special = (tmp_path / "out" / "hosts" / "special" / "qdrouterd.conf").read_text()
    assert "    name: clients\n" in special, "a listener for HTTP is none for clients"
    assert "    http: yes\n" in special
