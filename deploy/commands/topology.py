"""`inflight topology`: a network from one file or a known shape, to configuration, monitor and picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import click

from collectors.config.load import ConfigError
from deploy.errors import Finding, Problem
from deploy.topology import load, shapes
from deploy.topology.load import Network
from deploy.topology.programs import PROGRAMS

_FILE = click.Path(path_type=Path, dir_okay=False)
_DEFAULT_ROUTERS = 3


_NETWORK: Final = (
    click.argument("network", metavar="SHAPE|FILE"),
    click.option(
        "--routers",
        type=click.IntRange(1, shapes.MOST_ROUTERS),
        help="How many of a shape.  [default: 3, or the inventory's]",
    ),
    click.option(
        "--broker",
        "brokers",
        multiple=True,
        metavar="NAME[@ROUTER]",
        help="A broker of a shape, with a queue inflight.NAME; beside the last router unless said.",
    ),
    click.option(
        "--program", type=click.Choice([*PROGRAMS]), help="What the routers run, instead of the file's."
    ),
)


def network_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add what `network_of` takes."""
    for option in _NETWORK[::-1]:
        function = option(function)
    return function


@click.command()
@network_options
@click.argument("action", type=click.Choice(["check", "show", "write"]), required=False)
@click.option("--inventory", type=_FILE, help="An Ansible inventory with the hosts (INI).")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Write everything into this folder."
)
@click.option("--svg", type=_FILE, help="Of show: also draw the picture into this file.")
def command(
    network: str,
    action: Literal["check", "show", "write"] | None,
    routers: int | None,
    brokers: tuple[str, ...],
    program: str | None,
    inventory: Path | None,
    out: Path | None,
    svg: Path | None,
) -> None:
    """Check, show or write a network of routers and brokers.

    SHAPE is line, ring, star, complete or tree; FILE is a topology (deploy/topology/README.md), a graph in
    node-link YAML, or an Ansible inventory, which is a line of its routers. Without an action: write with
    --out, else show.

    Written are: each router's and broker's configuration, inflight.yaml, a playbook with its inventory,
    compose.yaml, Skupper resources, a picture, and topology.yaml, from which all of it can be made again.

    Example: inflight topology ring --routers 5 --broker store --out net

    Exit status: 0 all right, 1 mistakes in FILE, told with line, key and reason.
    """
    action = action or ("write" if out else "show")
    if (out is None) == (action == "write"):
        raise Problem("--out DIR and `write` go together")
    if svg is not None and action != "show":
        raise Problem("--svg is for `show`; `write` draws the picture anyway")
    found = network_of(network, routers, brokers, program, inventory)
    if action == "show":
        _show(found, svg)
    elif out is not None:
        _write(found, out)
    else:
        plan = found.plan
        click.echo(f"{network}: right. {len(plan.routers)} routers, {len(plan.brokers)} brokers.")


def network_of(
    network: str,
    routers: int | None,
    brokers: tuple[str, ...],
    program: str | None,
    inventory: Path | None = None,
) -> Network:
    """Return the network of a shape or file; tells every mistake in it, and raises Finding."""
    try:
        return _read(network, routers, brokers, program, inventory)
    except ConfigError as error:
        for mistake in error.mistakes:
            click.echo(mistake)
        count = len(error.mistakes)
        raise Finding(f"{count} mistake{'s' if count > 1 else ''} in {network}") from None


def _read(
    network: str, routers: int | None, brokers: tuple[str, ...], program: str | None, inventory: Path | None
) -> Network:
    if network not in shapes.SHAPES:
        if routers or brokers:
            raise Problem(f"--routers and --broker are for a shape: {', '.join(shapes.SHAPES)}")
        file = Path(network)
        if not file.exists():
            raise Problem(f"{network}: no such file, and no shape; shapes are {', '.join(shapes.SHAPES)}")
        return load.from_file(file, inventory, program)
    hosts = load.read_inventory(inventory) if inventory else None
    named = hosts.members("routers") if hosts else []
    if routers is not None and named and routers > len(named):
        raise Problem(f"--routers {routers}: the inventory has {len(named)} routers")
    names = named[:routers] if named else shapes.names(routers or _DEFAULT_ROUTERS)
    stores = [_broker(text) for text in brokers] or (load.brokers_of(hosts) if hosts else [])
    return load.from_shape(network, names, stores, program, hosts)


def _broker(text: str) -> tuple[str, str | None]:
    name, _, router = text.partition("@")
    return name, router or None


def _show(found: Network, svg: Path | None) -> None:
    from deploy.topology.show import picture, text  # noqa: PLC0415 -- a check draws nothing

    if svg is not None:
        _put(svg, picture.svg(found.plan))
    for line in text.lines(found.plan):
        click.echo(line)


def _write(found: Network, out: Path) -> None:
    from deploy.topology import outputs  # noqa: PLC0415 -- the same

    made = outputs.files(found)
    for name, text in made.items():
        _put(out / name, text)
    click.echo(
        f"{len(made)} files written to {out}; to begin with: {out / outputs.PICTURE}, {out / 'inflight.yaml'}"
    )


def _put(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Problem(f"cannot write {file}: {error.strerror}") from None
