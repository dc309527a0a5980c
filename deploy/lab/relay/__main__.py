"""`python -m deploy.lab.relay FILE`: passes on what comes to the ports of links, until told otherwise."""

from __future__ import annotations

import asyncio
import json
import resource
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import click

from deploy import control_socket, logs
from deploy.errors import Problem
from deploy.lab.relay import control
from deploy.lab.relay.faults import address
from deploy.lab.relay.flow import Held
from deploy.lab.relay.link import Line, Link
from deploy.lab.relay.listeners import Listeners


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.argument("file", type=click.Path(path_type=Path))
def main(file: Path) -> None:
    """Pass on the bytes of a lab's links, and delay, limit, stall, cut or move them when told to.

    FILE is JSON: the Unix socket by which it is told, and for each link a port, where that leads, and which
    of its two ends is dialled.

    \b
    {"control": "control", "links": {"A--B":
      {"ends": ["A", "B"], "dialled": "B", "listen": "127.0.0.1:20001", "to": "127.0.0.1:20002"}}}

    Prints "ready" on stdout when it listens. SIGTERM and SIGINT end it.
    """  # noqa: D301 -- click's mark for lines to be left as they are is a real backspace
    logs.setup()
    try:
        given = json.loads(file.read_text())
        lines = {name: _line(line) for name, line in given["links"].items()}
        path = file.parent / given["control"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Problem(f"{file} is not what `python -m deploy.lab.relay --help` says: {error!r}") from error
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # two for each connection
    try:
        with control_socket.listen(path) as sock:
            asyncio.run(_run(sock, lines))
    except OSError as error:
        raise Problem(f"the relay of {file} cannot listen: {error}") from error
    path.unlink(missing_ok=True)


def _line(given: dict[str, Any]) -> Line:
    listen, to = address(given["listen"]), address(given["to"])
    one, other = given["ends"]
    if listen is None or to is None or given["dialled"] not in {one, other}:
        raise ValueError(f"not a link: {given}")
    dialler = other if given["dialled"] == one else one
    return Line(listen, to, dialler, given["dialled"])


async def _run(control_sock: socket.socket, lines: dict[str, Line]) -> None:
    loop = asyncio.get_running_loop()
    held, listeners = Held(), Listeners()
    links = {name: Link(line, loop, held, listeners) for name, line in lines.items()}
    server = await control.serve(control_sock, links)
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, over.set)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await over.wait()
    server.close()
    for link in links.values():
        link.close()


if __name__ == "__main__":
    main()
