"""`inflight lab`: a network on this machine, that stays when the command has returned."""

from __future__ import annotations

import json
import threading
import time
from typing import Final

import click

from deploy.commands.topology import network_of, network_options
from deploy.errors import Problem
from deploy.signals import stop_on_signals

_NOT_UP: Final = 1
_LOG_LINES: Final = 40

_name = click.argument("name", required=False)


@click.group()
def command() -> None:
    """Run a network of routers and brokers on this machine: break it, measure on it, end it.

    Routers are real ones where the program is on the PATH, otherwise stand-ins; brokers are real. All listen
    on the loopback address, or, with `--wiring namespaces`, on one of their own that only this machine
    reaches. A lab stays until `down`. Its files are in .inflight/labs/NAME of the folder in which it was
    started, and there the other commands find it.

    Example: inflight lab up ring --routers 5 --broker store
    """


@command.command()
@network_options
@click.option("--name", help="Of the lab.  [default: the topology's]")
@click.option("--stand-ins", is_flag=True, help="Stand-ins even where the real router is on the PATH.")
@click.option("--kafka", is_flag=True, help="A Kafka, too: measure with probe, stream and export.")
@click.option(
    "--wiring",
    metavar="WIRING",
    help="How parts reach each other: relays, direct, or namespaces, as root.  [default: relays]",
)
def up(
    network: str,
    routers: int | None,
    brokers: tuple[str, ...],
    program: str | None,
    name: str | None,
    wiring: str | None,
    *,
    stand_ins: bool,
    kafka: bool,
) -> None:
    """Start a network, and return when it is up.

    SHAPE is line, ring, star, complete or tree; FILE is a topology (deploy/topology/README.md), a graph in
    node-link YAML, or an Ansible inventory. Hosts and ports in it give way to free ones of this machine.

    Where it fails or is interrupted, nothing of it stays. Exit status 0: it is up.
    """
    # Imported here: `--help` must not load all that a lab is made of.
    from deploy.actions import by_hand  # noqa: PLC0415 -- as this says
    from deploy.lab import client, show, starting  # noqa: PLC0415 -- the same
    from deploy.lab.keeper import Order  # noqa: PLC0415 -- the same
    from deploy.lab.wirings import DEFAULT, WIRINGS  # noqa: PLC0415 -- the same

    wiring = wiring or DEFAULT
    if wiring not in WIRINGS:
        raise Problem(f"--wiring {wiring}: is one of {', '.join(WIRINGS)}")
    found = network_of(network, routers, brokers, program)
    parts = found.topology
    name = client.checked(name or parts.name)
    order = Order(
        name=name,
        folder=(client.LABS / name).absolute(),
        document=found.document,
        wiring=wiring,
        stand_ins=stand_ins,
        kafka=kafka,
    )
    starting.prepare(order)
    stopping = threading.Event()
    stop_on_signals(stopping)
    began = time.monotonic()

    def say(text: str) -> None:
        click.echo(f"{time.monotonic() - began:5.1f} s {text}")

    by_hand.undo_left_behind(say)
    say(f"starting {name}: {show.counted(len(parts.routers), len(parts.brokers), kafka=kafka)}")
    try:
        lab = starting.up(order, say, stopping)
    except starting.GivenUp:
        raise Problem(f"given up: nothing of the lab {name} is left") from None
    say(f"{name} is up")
    click.echo()
    alone = len(client.everywhere()) == 1
    for line in (*show.lines(lab.record, "up", time.time_ns()), "", *show.next_steps(lab, alone=alone)):
        click.echo(line)


@command.command()
@_name
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def status(name: str | None, *, as_json: bool) -> None:
    """Show labs: parts, states, URLs, faults of links.

    All labs of this folder, or the one called NAME. Exit status 1: a part has ended that nobody told to, or a
    lab's keeper is gone or does not answer.
    """
    from deploy.lab import client, show  # noqa: PLC0415 -- as above

    labs = [client.find(name)] if name else client.everywhere()
    looks = [(lab, *lab.look()) for lab in labs]
    if as_json:
        told = [
            {
                **record.model_dump(mode="json"),
                "state": condition,
                "folder": str(lab.folder.absolute()),
                "problem": problem,
            }
            for lab, condition, record, problem in looks
        ]
        click.echo(json.dumps({"labs": told}, indent=2))
    elif not labs:
        click.echo(f"there is no lab in {client.LABS.absolute()}; try `inflight lab up ring --routers 5`")
    else:
        for number, (_, condition, record, problem) in enumerate(looks):
            for line in (*([""] if number else []), *show.lines(record, condition, time.time_ns())):
                click.echo(line)
            if problem:
                click.echo(problem)
    if any(show.wrong(condition, record) for _, condition, record, _ in looks):
        raise SystemExit(_NOT_UP)


@command.command()
@_name
@click.option("--kill", is_flag=True, help="End it without asking its keeper, which may hang.")
def down(name: str | None, *, kill: bool) -> None:
    """End a lab.

    The one called NAME, or the only one. Its logs stay in its folder.
    """
    from deploy.lab import client  # noqa: PLC0415 -- as above

    lab = client.find(name)
    lab.end(kill=kill)
    click.echo(f"{lab.name} is down; its logs are in {lab.folder / client.LOGS}")


@command.command()
@click.argument("part")
@_name
def logs(part: str, name: str | None) -> None:
    """Show the end of a part's log.

    PART is a router or broker of the lab NAME, or `keeper`, the process that the lab lives in.
    """
    from deploy.lab import client, log_end  # noqa: PLC0415 -- as above

    for line in log_end.lines(client.find(name), part, _LOG_LINES):
        click.echo(line)
