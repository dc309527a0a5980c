"""A process that sends and receives streams: `python -m deploy.experiment.stream_worker SOCKET`.

Its order comes as a line of JSON: the file of a config, and the flows to send and to receive. `begin` lets
its probe begin, `stop` end; it tells twice a second how far it is. When the run is gone, it ends at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

from collectors.config import load
from collectors.config.model import Config
from collectors.kafka.in_process_sink import InProcessSink
from collectors.probe.prober import Prober, Settings
from collectors.process.worker import Worker
from deploy import control_socket, logs
from deploy.experiment.frames import LINE_BYTES, Writer
from deploy.parts.ends import choose_paths

_LOOK_SECONDS: Final = 0.5
_LAST_WINDOW_SECONDS: Final = 1.5  # after so long the last window is over, and loss in it is final
_DRAIN_SECONDS: Final = 600.0
_THREAD: Final = "probe"  # of the prober


class StreamWorker:
    def __init__(self, config: Config, send: list[str], receive: list[str], writer: Writer) -> None:
        sending = choose_paths(config, send, receive=False)[0] if send else []
        receiving = choose_paths(config, receive, send=False)[1] if receive else []
        settle_ns = max(path.rules.settle_ns for path in sending + receiving)
        settings = Settings(
            site=config.site,
            max_rate=config.defaults.max_rate,
            linger_seconds=settle_ns / 1e9 + _LAST_WINDOW_SECONDS,
            drain_seconds=_DRAIN_SECONDS,
            compare_clocks=False,  # all processes are of this machine
        )
        self._writer = writer
        self._sink = InProcessSink(writer.record)
        self._prober = Prober(sending, receiving, config.endpoints, self._sink, settings)

    def begin(self) -> None:
        self._prober.start()

    def stop(self) -> None:
        """End the probe, and hand on all that it still told."""
        self._prober.stop()
        self._sink.close()
        self.tell(ended=True)

    def tell(self, **more: Any) -> None:
        prober = self._prober
        senders = [end.sender for end in prober.senders]
        started = [sender.backlog.start_ns if sender.started else 0 for sender in senders]
        self._writer.status(
            {
                "sent": sum(sender.sent for sender in senders),
                "refused": sum(sender.refused for sender in senders),
                "unsettled": sum(sender.unsettled for sender in senders),
                "received": sum(receiver.received for receiver in prober.receivers),
                "started_ns": (min(started), max(started)) if all(started) and started else None,
                "finished": all(sender.finished for sender in senders),
                "not_ready": prober.not_ready(),
                "problem": prober.failure
                or (f"{self._sink.failed} records were lost" if self._sink.failed else None),
                "at_ns": time.monotonic_ns(),
                "busy_ns": _busy_ns(),
                **more,
            }
        )


def _busy_ns() -> int:
    """Return how much of a core the probe's own thread has had: it is what limits a process."""
    thread = next((one for one in threading.enumerate() if one.name == _THREAD and one.ident), None)
    if thread is None or thread.ident is None:
        return 0
    try:
        return time.clock_gettime_ns(time.pthread_getcpuclockid(thread.ident))
    except OSError:  # it has just ended
        return 0


def main() -> None:
    logs.setup()
    sock = control_socket.connected(Path(sys.argv[1]))
    lines = sock.makefile("rb")
    order = json.loads(lines.readline(LINE_BYTES))
    writer = Writer(sock)
    worker = StreamWorker(load.load(Path(order["config"])), order["send"], order["receive"], writer)
    stopped = threading.Event()

    def listen() -> None:
        while command := lines.readline(LINE_BYTES).strip():
            if command == b"begin":
                worker.begin()
            elif command == b"stop":
                stopped.set()
        if not stopped.is_set():
            os._exit(2)  # the run is gone, and nobody takes what is measured

    writer.status({"made": True})
    Worker("commands", listen, again=False).start()
    while not stopped.wait(_LOOK_SECONDS):
        worker.tell()
    worker.stop()
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
