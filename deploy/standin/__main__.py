"""`python -m deploy.standin`: one stand-in router as a process."""

from __future__ import annotations

import logging
import signal
import sys
from typing import TYPE_CHECKING

import click

from deploy import logs
from deploy.errors import Problem
from deploy.standin import options
from deploy.standin.flavours import FLAVOURS
from deploy.standin.process import StandInProcess

if TYPE_CHECKING:
    from types import FrameType

_log = logging.getLogger("inflight.standin")


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--name", required=True, help="Router id; '.stand-in' is appended unless it is in the name.")
@click.option(
    "--listen",
    "listen",
    multiple=True,
    required=True,
    metavar="HOST:PORT[,KEY=VALUE...]",
    help="Accept connections (port 0: any free one). Keys: role, strip (both, no, in, out), cert and key (for"
    " TLS), users (file of user:password lines).",
)
@click.option(
    "--connect",
    multiple=True,
    metavar="HOST:PORT[,KEY=VALUE...]",
    help="Connect to another stand-in, again and again. Keys: role (inter-router, edge), cost, name.",
)
@click.option(
    "--auto-link",
    "auto_link",
    multiple=True,
    metavar="ADDRESS=HOST:PORT[:in|:out][,KEY=VALUE...]",
    help="Link to a broker's queue: into it, out of it, or both. Keys: name, user, password-file.",
)
@click.option(
    "--link-route",
    "link_route",
    multiple=True,
    metavar="PREFIX=HOST:PORT[:in|:out][,KEY=VALUE...]",
    help="Carry links of clients on addresses below a prefix to a broker: of senders (in), receivers (out) or"
    " both. Keys: name, user, password-file.",
)
@click.option(
    "--waypoint",
    multiple=True,
    metavar="ADDRESS",
    help="Address (or prefix) that leads through a broker. Others in the mesh learn of it.",
)
@click.option(
    "--flavour",
    type=click.Choice(list(FLAVOURS)),
    default="dispatch",
    show_default=True,
    help="Whose management schema to answer with.",
)
@click.option("--mode", type=click.Choice(["interior", "edge"]), default="interior", show_default=True)
@click.option(
    "--control",
    metavar="FILE",
    help="Unix socket for faults on command (python -m deploy.standin.faults.control).",
)
@click.option("--log-level", type=click.Choice(logs.LEVELS), default="info", show_default=True)
def main(**given: object) -> None:
    """A small AMQP 1.0 router for demonstrations and tests, where no real one is installed.

    Prints "ready PORT..." on stdout when it listens. SIGTERM and SIGINT end it. It is no substitute for
    a real router: one thread, no policies, no persistence of configuration.

    \b
    python -m deploy.standin --name A --listen 127.0.0.1:5672,strip=no --control a.sock
    python -m deploy.standin --name B --listen 127.0.0.1:5673 --connect 127.0.0.1:5672
    python -m deploy.standin --name C --listen 127.0.0.1:5674 --connect 127.0.0.1:5673 \\
        --auto-link orders=127.0.0.1:61616
    """  # noqa: D301 -- click's mark for lines to be left as they are is a real backspace
    logs.setup(str(given.pop("log_level")))
    process = StandInProcess(options.read(given))

    def stop(_number: int, _frame: FrameType | None) -> None:
        process.loop.stopping = True

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    try:
        ports = process.start()
    except OSError as error:
        raise Problem(
            f"stand-in {process.router.id} cannot listen: {error}; choose another --listen"
        ) from error
    sys.stdout.write(f"ready {' '.join(map(str, ports))}\n")
    sys.stdout.flush()
    process.run()


if __name__ == "__main__":
    main()
