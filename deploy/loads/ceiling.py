"""What one generator process can do at most on this machine, and the floor below it: bare proton.

Both send to the same trivial sink in another process on loopback, one after the other: the generator as a
stream does whose messages are accepted, records and all, the floor without acknowledgement.
`python -m deploy.loads --ceiling` tells it; `python -m deploy.loads.ceiling PORT SECONDS BYTES` generates.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from collectors.config.model import Endpoint
from collectors.kafka.in_process_sink import InProcessSink
from collectors.probe.prober import Prober, Settings
from deploy.errors import Problem
from deploy.loads.model import Description
from deploy.loads.paths import tasks

_END_SECONDS: Final = 30.0  # beyond the measuring, for a process to come up and go
_AT_CEILING: Final = 0.9


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Of one process: messages a second, and what one costs."""

    messages_per_second: float
    cpu_ns_per_message: int
    raw_messages_per_second: float
    raw_cpu_ns_per_message: int

    def is_reached(self, messages_per_second: float, processes: int) -> bool:
        """Whether so many processes that sent so much may have been what held it back."""
        return messages_per_second >= _AT_CEILING * self.messages_per_second * processes

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def measure(seconds: float = 3.0, size_bytes: int = 256) -> Ceiling:
    """Blocks for twice so long, and some seconds; raises Problem where it cannot be measured."""
    engine = _measured("deploy.loads.ceiling", (), seconds, size_bytes)
    raw = _measured("deploy.loads.bare", ("send",), seconds, size_bytes)
    return Ceiling(*_rates(engine), *_rates(raw))


def _rates(found: dict[str, float]) -> tuple[float, int]:
    messages = found["messages"]
    if not messages:
        raise Problem("the generator's ceiling cannot be measured: no message reached the sink")
    return round(messages / found["seconds"], 1), round(found["cpu_seconds"] * 1e9 / messages)


def _measured(module: str, words: tuple[str, ...], seconds: float, size_bytes: int) -> dict[str, float]:
    with _sink() as port:
        arguments = [*words, str(port), str(seconds), str(size_bytes)]
        command = [sys.executable, "-m", module, *arguments]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                timeout=seconds + _END_SECONDS,
                check=True,
                text=True,
                start_new_session=True,  # Ctrl-C is for who asked; it is over in seconds
            )
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
            said = str(error.stderr or "").strip().rpartition("\n")[2]
            raise Problem(f"the generator's ceiling cannot be measured: {said or error}") from None
    found: dict[str, float] = json.loads(done.stdout)
    return found


@contextmanager
def _sink() -> Iterator[int]:
    command = [sys.executable, "-m", "deploy.loads.bare", "sink"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stdout is not None  # noqa: S101 -- for mypy
            line = process.stdout.readline()
            if not line:
                raise Problem("the generator's ceiling cannot be measured: its sink did not start")
            yield int(line)
        finally:
            process.kill()


def generate(port: int, seconds: float, size_bytes: int) -> dict[str, float]:
    """Sends as a load's generator does, records and all; returns how many messages were accepted."""
    description = Description.model_validate(
        {
            "endpoints": {"sink": {"url": f"amqp://127.0.0.1:{port}"}},
            "loads": {
                "ceiling": {
                    "kind": "stream",
                    "from": "sink",
                    "to": "sink",
                    "address": "ceiling",
                    "rate": 0,
                    "size": f"{size_bytes}B",
                    "duration": f"{seconds:g}s",
                }
            },
        }
    )
    sink = InProcessSink(lambda record, key: None)  # noqa: ARG005 -- nobody counts them
    (task,) = tasks(description).values()
    endpoints = {name: end for name, end in description.endpoints.items() if isinstance(end, Endpoint)}
    settings = Settings(site="ceiling", compare_clocks=False, stop_when_finished=True)
    prober = Prober([task.path], [], endpoints, sink, settings)
    prober.start()
    began, cpu = time.monotonic(), time.process_time()
    sender = prober.senders[0].sender
    until = began + seconds + _END_SECONDS / 2
    while not sender.finished and time.monotonic() < until:
        if not sender.sent:
            began, cpu = time.monotonic(), time.process_time()
        time.sleep(0.01)
    found = {
        "messages": sender.sent - sender.unsettled,
        "seconds": time.monotonic() - began,
        "cpu_seconds": time.process_time() - cpu,
    }
    prober.stop()
    sink.close()
    return found


if __name__ == "__main__":
    print(json.dumps(generate(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))))  # noqa: T201 -- to its parent
