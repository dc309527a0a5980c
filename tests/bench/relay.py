"""The relay of a lab: bytes a second and round trips through it, beside a direct connection."""

from __future__ import annotations

import json
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # what tests share
sys.path.insert(0, str(Path(__file__).parents[2]))

from relay_process import RelayProcess, Target, receive

ROUNDS, SECONDS, ROUND_TRIPS, MESSAGE_BYTES = 5, 1.0, 3_000, 300


def run() -> dict[str, float]:
    echo, sink = Target(), Target()
    for target, serve in ((echo, _echo), (sink, _swallow)):
        threading.Thread(target=_serve, args=(target, serve), daemon=True).start()
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        relay = RelayProcess(Path(folder), echo.port, sink.port)
        ways = {"direct": (echo.port, sink.port), "relayed": (relay.ports["A--B1"], relay.ports["A--B2"])}
        for _ in range(ROUNDS):
            for way, (echo_port, sink_port) in ways.items():
                found.setdefault(f"{way} round trip, us", []).append(_round_trip_us(echo_port))
                found.setdefault(f"{way} MB/s", []).append(_mb_per_second(sink_port))
        relay.stop()
    return {name: statistics.median(values) for name, values in found.items()}


def _serve(target: Target, serve: Callable[[socket.socket], None]) -> None:
    target.server.settimeout(None)
    while True:
        sock, _ = target.server.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(sock,), daemon=True).start()


def _echo(sock: socket.socket) -> None:
    while data := sock.recv(65_536):
        sock.sendall(data)


def _swallow(sock: socket.socket) -> None:
    buffer = bytearray(262_144)
    while sock.recv_into(buffer):
        pass
    sock.close()


def _round_trip_us(port: int) -> float:
    took = []
    with _dialled(port) as sock:
        for _ in range(ROUND_TRIPS):
            began = time.perf_counter()
            sock.sendall(bytes(MESSAGE_BYTES))
            receive(sock, MESSAGE_BYTES)
            took.append(time.perf_counter() - began)
    return statistics.median(took) * 1e6


def _mb_per_second(port: int) -> float:
    piece, sent, began = bytes(65_536), 0, time.perf_counter()
    with _dialled(port) as sock:
        while time.perf_counter() - began < SECONDS:
            sock.sendall(piece)
            sent += len(piece)
        sock.shutdown(socket.SHUT_WR)
        sock.recv(1)  # all has come
    return sent / (time.perf_counter() - began) / 1e6


def _dialled(port: int) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


if __name__ == "__main__":
    sys.stdout.write(json.dumps({name: round(value, 1) for name, value in run().items()}, indent=2) + "\n")
