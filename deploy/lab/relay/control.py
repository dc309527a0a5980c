"""How a relay is told what to do: commands of deploy.control_socket.

{"do": "delay", "link": "A--B", "ms": 50}             -> {"ok": {"link": "A--B", "faults": [...]}}
{"do": "clear", "link": "A--B"[, "fault": "delay"]}   -> the same, or {"problem": "..."}
{"do": "list"}                                        -> {"ok": {"A--B": {"faults": [...], ...}}}
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Mapping
from typing import Any, Final

from deploy.control_socket import LINE_BYTES, read_object
from deploy.errors import Problem
from deploy.lab import faults
from deploy.lab.relay.link import Link

_log: Final = logging.getLogger("inflight.relay")


async def serve(sock: socket.socket, links: Mapping[str, Link]) -> asyncio.Server:
    async def answer_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(json.dumps(_answer(line, links)).encode() + b"\n")
                await writer.drain()
        except (OSError, ValueError):  # gone, or a line without end
            pass
        finally:
            writer.close()

    return await asyncio.start_unix_server(answer_all, sock=sock, limit=LINE_BYTES)


def _answer(line: bytes, links: Mapping[str, Link]) -> dict[str, Any]:
    try:
        return {"ok": _carry_out(read_object(line), links)}
    except (ValueError, Problem) as error:
        return {"problem": str(error)}


def _carry_out(command: Mapping[str, Any], links: Mapping[str, Link]) -> dict[str, Any]:
    if command.get("do") == "list":
        return {name: link.describe() for name, link in links.items()}
    name = str(command.get("link"))
    if name not in links:
        raise Problem(f"there is no link {command.get('link')!a}")
    on = links[name].tell(command)
    _log.info("told %s", json.dumps(command))
    return {"link": name, "faults": faults.told(on)}
