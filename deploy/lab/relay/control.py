"""How a relay is told what to do: a JSON object a line over its Unix socket, as a stand-in is.

{"do": "delay", "link": "A--B", "ms": 50}    -> {"ok": true}
{"do": "clear", "link": "A--B"}              -> {"ok": true}; with "fault": "delay" only that one
{"do": "list"}                               -> {"ok": true, "links": {"A--B": {"faults": {...}, ...}}}
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deploy.lab.relay.link import Link
from deploy.standin.faults.control import LINE_BYTES, answer
from deploy.standin.faults.kinds import FaultError


def carry_out(links: Mapping[str, Link], command: dict[str, Any]) -> dict[str, Any]:
    if command.get("do") == "list":
        return {"links": {name: link.describe() for name, link in links.items()}}
    link = links.get(str(command.get("link")))
    if link is None:
        raise FaultError(f"there is no link {command.get('link')!r}")
    link.tell(command)
    return {}


@contextmanager
def bound(path: Path) -> Iterator[socket.socket]:
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))
        path.chmod(0o600)
        yield sock
    path.unlink(missing_ok=True)


async def serve(sock: socket.socket, links: Mapping[str, Link]) -> asyncio.Server:
    async def answer_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                told = answer(line, lambda command: carry_out(links, command))
                writer.write(json.dumps(told).encode() + b"\n")
                await writer.drain()
        except (OSError, ValueError):  # gone, or a line without end
            pass
        finally:
            writer.close()

    return await asyncio.start_unix_server(answer_all, sock=sock, limit=LINE_BYTES)
