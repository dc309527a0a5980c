"""`inflight fault`: does something to a network on purpose, and undoes it."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from pathlib import Path
from typing import Final

import click

from deploy.errors import Problem
from deploy.signals import stop_on_signals
from deploy.topology.action_kinds import KINDS

_PLAY, _LIST, _UNDO = "play", "list", "undo"
_FILE: Final = click.Path(path_type=Path, dir_okay=False)


def _help() -> str:
    kinds = "\n".join(
        f"    {verb:<9}{kind.help}" + (f" ({', '.join(kind.fields)})" if kind.fields else "")
        for verb, kind in KINDS.items()
    )
    return f"""Do something to a network on purpose: it is marked on the dashboards, and undone.

    WHAT is a router or broker by its name, or a link by its two ends, like A--B. It is undone after --for or
    with Ctrl-C, and where it fails or does not end in time. What a killed `inflight fault` left behind is
    undone first.

    \b
{kinds}

    \b
    inflight fault kill B --for 10s                           in a lab (inflight lab up)
    inflight fault delay A--B ms=50 jitter_ms=5 --for 1m
    inflight fault stop B -t net/topology.yaml --for 30s      by ssh, on the hosts of a topology
    inflight fault kill B --with docker --for 10s             or podman, systemctl, kubectl
    inflight fault stop B --with 'my-tool {{verb}} {{part}}' --for 10s
    inflight fault command B run='./over.sh' undo='./back.sh' from=tools --for 1m
    inflight fault play NAME                                  a story of the topology
    inflight fault list                                       what is not undone yet, and by whom
    inflight fault undo                                       undo what was left behind

    Exit status: 0 done and undone; 1 something failed, and is undone; 2 misuse, or it did not begin;
    3 something could not be undone: the network is not as it was.
    """


@click.command(help=_help())
@click.argument("do", type=click.Choice([*KINDS, _PLAY, _LIST, _UNDO]), metavar="DO")
@click.argument("what", required=False)
@click.argument("fields", nargs=-1, metavar="[FIELD=VALUE]...")
@click.option("--for", "lasts", metavar="DURATION", help="Then it is undone; else with Ctrl-C.")
@click.option("--deadline", metavar="DURATION", help="Of doing it, and of undoing it.  [default: 30s]")
@click.option("--lab", metavar="NAME", help="The lab, where there are several.")
@click.option("-t", "--topology", "topology_file", type=_FILE, help="By ssh, on the hosts of this topology.")
@click.option("--inventory", type=_FILE, help="The hosts of that topology (an Ansible inventory).")
@click.option("--ssh-config", type=_FILE, help="What ssh reads instead of the user's own.")
@click.option("--with", "template", metavar="TEMPLATE", help="By a command on this machine.")
@click.option(
    "-c",
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="Where it is marked.  [default: the lab's; else $INFLIGHT_CONFIG, inflight.yaml]",
)
@click.option("--json", "as_json", is_flag=True, help="Tell at the end what became of each action.")
def command(
    do: str,
    what: str | None,
    fields: tuple[str, ...],
    lasts: str | None,
    deadline: str | None,
    lab: str | None,
    topology_file: Path | None,
    inventory: Path | None,
    ssh_config: Path | None,
    template: str | None,
    config_file: Path | None,
    *,
    as_json: bool,
) -> None:
    # Imported here: `--help` must not load all that a lab is made of.
    from deploy.actions import by_hand  # noqa: PLC0415 -- as this says

    if do == _LIST:
        for line in by_hand.going_on():
            click.echo(line)
        return
    if do == _UNDO:
        raise SystemExit(by_hand.undo(click.echo))
    if what is None:
        raise Problem(
            "name the story" if do == _PLAY else f"{do} what? Name a router, a broker or a link A--B"
        )
    if do == _PLAY and (fields or lasts or deadline):
        raise Problem("a story says itself what it does, and for how long")
    single = [] if do == _PLAY else [by_hand.action(do, what, fields, **{"for": lasts, "deadline": deadline})]
    target = by_hand.target(
        lab=lab,
        topology=topology_file,
        inventory=inventory,
        ssh_config=ssh_config,
        template=template,
        config=config_file,
        needs_lab=do not in {"command", "clock"},
    )
    stopping = threading.Event()
    stop_on_signals(stopping, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    began = time.monotonic()

    def tell(text: str) -> None:
        with contextlib.suppress(OSError):  # whoever listened is gone; it has to be undone all the same
            click.echo(f"{time.monotonic() - began:5.1f} s {text}")

    actions = single or by_hand.story(target, what)
    status, done = by_hand.carry_out(target, actions, stopping, tell)
    if as_json:
        for one in done:
            click.echo(by_hand.as_json(one))
    raise SystemExit(status)
