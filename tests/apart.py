"""A prober in a process of its own, which a test may stop or kill: `from apart import Apart, account`.

Run as a program it is that process, and writes its records to a file.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Collection
from pathlib import Path

from helpers import wait_until
from measured import Accounted, parse

from collectors.contract.record_codec import decode
from collectors.contract.records import Gap
from collectors.probe.durable.recovery import recover
from collectors.probe.prober import Prober, Settings

_HEAD = struct.Struct("<QII")  # time in ns, bytes of the key, bytes of the record
Taken = tuple[int, str, bytes]


class Apart:
    """A process that sends or receives on all paths of a config, started at once."""

    def __init__(self, folder: Path, text: str, role: str) -> None:
        """A second one with the same folder and role is a restart of the same host's probe."""
        folder.mkdir(exist_ok=True)
        (folder / "config").write_text(text)
        self._file = folder / f"{role}-{len(list(folder.glob(f'{role}-*')))}"
        command = [sys.executable, __file__, str(folder), str(self._file), role]
        path = os.pathsep.join(filter(None, sys.path))
        self.process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path})

    def taken(self) -> list[Taken]:
        """Return each complete record with its time and path."""
        data = self._file.read_bytes() if self._file.exists() else b""
        found, place = [], 0
        while place + _HEAD.size <= len(data):
            when, key, record = _HEAD.unpack_from(data, place)
            begin = place + _HEAD.size
            place = begin + key + record
            if place <= len(data):
                found.append((when, data[begin : begin + key].decode(), data[begin + key : place]))
        return found

    def wait_records(self, count: int) -> None:
        """Wait until so many more records are written."""
        before = len(self.taken())
        wait_until(lambda: len(self.taken()) >= before + count, 30, f"{count} more records")

    def wait_received(self, paths: Collection[str]) -> None:
        """Wait until messages have arrived along each path."""

        def arrived() -> set[str]:
            return {key for _, key, record in self.taken() if decode(record).received is not None}

        wait_until(lambda: arrived() >= set(paths), 60, "messages along each path")

    def stand_still(self, seconds: float) -> None:
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill the process, even while it is stopped."""
        self.process.kill()
        self.process.wait(20)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            assert self.process.wait(40) == 0


def account(text: str, ends: list[Apart]) -> Accounted:
    """Feed the records of all ends to the accounting, in order of time, and return its results."""
    accounted = Accounted(parse(text)[1])
    for when, key, record in sorted(taken for end in ends for taken in end.taken()):
        accounted.take(record, key, when)
    return accounted


def stand_still(end: Apart, seconds: float, ends: list[Apart], *, records: int = 20) -> tuple[int, int]:
    """Stop one end for so long, let all write more records, and end them; return when the stop was, in ns."""
    from_ns = time.time_ns()
    end.stand_still(seconds)
    to_ns = time.time_ns()
    for each in ends:
        each.wait_records(records)
    for each in reversed(ends):
        each.end()
    return from_ns, to_ns


def _main(folder: Path, file: Path, role: str) -> None:
    output = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    class Sink:
        def put(self, record: bytes, key: str) -> None:
            name = key.encode()
            os.write(output, _HEAD.pack(time.time_ns(), len(name), len(record)) + name + record)

        def gaps(self, path: str, role: str, name: str, run: str) -> tuple[Gap, ...]:  # noqa: ARG002
            return ()

    config, paths = parse((folder / "config").read_text())
    everything = list(paths.values())
    journals = folder / f"journal-{role}"
    if journals.exists():
        recover(journals, Sink())
    prober = Prober(
        everything if role == "send" else [],
        everything if role == "receive" else [],
        config.endpoints,
        Sink(),
        Settings(site=role, linger_seconds=1.0, journals=journals),
    )
    end = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: end.set())
    prober.start()
    with contextlib.suppress(KeyboardInterrupt):
        end.wait()
    prober.stop()


if __name__ == "__main__":
    _main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
