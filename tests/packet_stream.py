"""UDP packets counted at their far end: run as a script inside a namespace; both ends read the same clock.

    packet_stream.py receive ADDRESS PORT                 until its stdin is closed and no more comes; then
                                                          tells what came
    packet_stream.py send    ADDRESS PORT COUNT PAUSE_MS

What came is a JSON list of [number, time on the way in ms], in the order in which it came.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import subprocess
import sys
import time
from dataclasses import dataclass

_SILENT_SECONDS = 1.0  # after the last one: longer than any delay of the tests
_BUFFER_BYTES = 64 << 20  # so that none is lost for want of a reader on a slow machine


@dataclass(frozen=True)
class Came:
    """What came of the packets 0 to `sent` - 1."""

    sent: int
    numbers: list[int]
    ms: list[float]

    @property
    def overtakers(self) -> list[int]:
        """Those that came before one that was sent earlier; a lost one is overtaken by none."""
        place = {number: at for at, number in enumerate(self.numbers)}
        latest, found = -1, []
        for number in sorted(place):
            if place[number] < latest:
                found.append(number)
            latest = max(latest, place[number])
        return found


def passed(receive: list[str], send: list[str], count: int) -> Came:
    """Run the two ends by these command lines; return what came."""
    with subprocess.Popen(receive, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as receiving:
        assert receiving.stdin
        assert receiving.stdout
        assert receiving.stdout.readline() == "ready\n"
        subprocess.run(send, check=True, timeout=120)
        told, _ = receiving.communicate(timeout=60)
    rows = json.loads(told)
    return Came(count, [number for number, _ in rows], [ms for _, ms in rows])


def _receive(address: str, port: int) -> None:
    came = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, 33, _BUFFER_BYTES)  # SO_RCVBUFFORCE
        sock.bind((address, port))
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        ended = False
        while True:
            waited_for = [sock] if ended else [sock, 0]
            readable, _, _ = select.select(waited_for, [], [], _SILENT_SECONDS if ended else None)
            if sock in readable:
                number, sent_ns = struct.unpack("!IQ", sock.recv(2048)[:12])
                came.append((number, (time.monotonic_ns() - sent_ns) / 1e6))
            elif ended:
                break
            else:
                ended = True
    sys.stdout.write(json.dumps(came))


def _send(address: str, port: int, count: int, pause_ms: float) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for number in range(count):
            sock.sendto(struct.pack("!IQ", number, time.monotonic_ns()), (address, port))
            time.sleep(pause_ms / 1000)


if __name__ == "__main__":
    what, address, port, *rest = sys.argv[1:]
    if what == "receive":
        _receive(address, int(port))
    else:
        _send(address, int(port), int(rest[0]), float(rest[1]))
