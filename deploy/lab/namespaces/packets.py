"""Lets packets wait between two namespaces, where the kernel has no netem.

python -m deploy.lab.namespaces.packets DIRECTIONS READY

It makes a device in each, and what is sent to the one comes out of the other. DIRECTIONS is a JSON list of
two: `namespace` (a file), `device`, and how long the packets wait that are sent there (`delay_ns`,
`jitter_ns`, `overtaking_percent`). The file READY is made when the devices are there; they are gone with this
process. When it is asked to end, what waits is still delivered, for a while.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import random
import select
import signal
import struct
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from deploy.lab.namespaces.delay_line import DelayLine

_CLONE_NEWNET: Final = 0x4000_0000
_TUNSETIFF: Final = 0x4004_54CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_PACKET_BYTES: Final = 65_536
_PACKETS_A_TURN: Final = 64
_IDLE_SECONDS: Final = 0.1
_DRAIN_SECONDS: Final = 1.0


def _open(namespace: str, device: str) -> int:
    """Make a device in a namespace; it stays there, wherever this process goes next."""
    place = os.open(namespace, os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(place, _CLONE_NEWNET) != 0:
        sys.exit(f"could not enter {namespace}: {os.strerror(ctypes.get_errno())}")
    os.close(place)
    try:
        file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(file, _TUNSETIFF, struct.pack("16sH22x", device.encode(), _IFF_TUN | _IFF_NO_PI))
    except OSError as error:
        sys.exit(f"could not make the device {device} by /dev/net/tun: {error.strerror}")
    return file


def _line(told: Mapping[str, Any]) -> DelayLine:
    return DelayLine(
        delay_ns=told["delay_ns"],
        jitter_ns=told["jitter_ns"],
        overtaking_percent=told["overtaking_percent"],
        dice=random.random,
    )


class _Relay:
    def __init__(self, directions: list[dict[str, Any]]) -> None:
        one, other = (_open(told["namespace"], told["device"]) for told in directions)
        there, back = (_line(told) for told in directions)
        self._lines = {one: (there, other), other: (back, one)}  # where sent: its line, where it comes out
        self._until = float("inf")

    def end_soon(self, *_signal: object) -> None:
        self._until = time.monotonic() + _DRAIN_SECONDS

    def run(self) -> None:
        while time.monotonic() < self._until:
            due = [line.due_ns for line, _ in self._lines.values() if line.due_ns is not None]
            if not due and self._until != float("inf"):
                return
            wait = min([(at - time.monotonic_ns()) / 1e9 for at in due], default=_IDLE_SECONDS)
            readable, _, _ = select.select(list(self._lines), [], [], min(max(wait, 0.0), _IDLE_SECONDS))
            for file in readable:
                self._read(file)
            for line, out in self._lines.values():
                for packet in line.take(time.monotonic_ns()):
                    self._write(out, packet)

    def _read(self, file: int) -> None:
        line, _ = self._lines[file]
        for _ in range(_PACKETS_A_TURN):
            try:
                packet = os.read(file, _PACKET_BYTES)
            except BlockingIOError:
                return
            line.put(packet, time.monotonic_ns())

    @staticmethod
    def _write(file: int, packet: bytes) -> None:
        try:
            os.write(file, packet)
        except OSError:
            return  # the device is down, or its queue full: lost, as on any link


def main() -> None:
    directions, ready = json.loads(sys.argv[1]), Path(sys.argv[2])
    relay = _Relay(directions)
    signal.signal(signal.SIGTERM, relay.end_soon)
    ready.touch()
    relay.run()


if __name__ == "__main__":
    main()
