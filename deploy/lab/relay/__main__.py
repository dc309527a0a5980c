"""`python -m deploy.lab.relay FILE`: passes on what comes to the ports of links, until told otherwise."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import resource
import signal
import socket
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from deploy import control_socket, logs
from deploy.errors import Problem
from deploy.lab.relay import control
from deploy.lab.relay.flow import Held
from deploy.lab.relay.link import Line, Link, Place
from deploy.lab.relay.listeners import Listeners


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.argument("file", type=click.Path(path_type=Path))
def main(file: Path) -> None:
    """Pass on the bytes of a lab's links, and delay, limit, stall, cut or move them when told to.

    FILE is JSON: the Unix socket by which it is told, and for each link its two ends, which of them is
    dialled, where the relay listens for it, where that leads, and where it leads when moved to another part.

    \b
    {"control": "control", "links": {"A--B":
      {"ends": ["A", "B"], "dialled": "B", "listen": "127.0.0.1:20001", "to": "127.0.0.1:20002",
       "moves": {"C": "127.0.0.1:20003"}}}}

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
    (dialler,) = set(given["ends"]) - {given["dialled"]}
    moves = {part: _place(place) for part, place in given["moves"].items()}
    return Line(_place(given["listen"]), _place(given["to"]), dialler, given["dialled"], moves)


def _place(text: str) -> Place:
    """Return host and port of `IP:PORT`; names are not looked up, as that would hold up all links."""
    place = urlsplit(f"//{text}")
    if not place.port:
        raise ValueError(f"{text} is not IP:PORT")
    return str(ipaddress.ip_address(place.hostname or "")), place.port


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
