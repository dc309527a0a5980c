"""A receiver beside the test: `with Receiving(url, address) as receiving`, and `receiving.count`."""

from __future__ import annotations

import threading
from typing import Self

from proton import Timeout
from proton.utils import BlockingConnection


class Receiving:
    """Receives and counts messages, in a thread, until the end of the block."""

    def __init__(self, url: str, address: str | None) -> None:
        """Without an address the link has one that the peer makes."""
        self.count = 0
        self.address = address
        self._url = url
        self._ready, self._end = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(10)

    def _run(self) -> None:
        connection = BlockingConnection(self._url, timeout=10)
        receiver = connection.create_receiver(self.address, credit=50, dynamic=self.address is None)
        self.address = receiver.link.remote_source.address
        self._ready.set()
        while not self._end.is_set():
            try:
                receiver.receive(timeout=0.1)
            except Timeout:
                continue
            self.count += 1
            receiver.accept()
            receiver.flow(1)
        connection.close()
