"""Keeps a receiver's rows from a message's arrival until they are published."""

from __future__ import annotations

import struct
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from collectors.probe.measure.arrivals import ROW
from collectors.probe.message import COUNTED_BYTES

REST: Final = struct.Struct("<QIBBH")
_FIRST_ROWS: Final = 256


class RowStore(Protocol):
    """Rows in order of arrival."""

    def add(self, counted: memoryview, received_ns: int, body_bytes: int, flags: int, route: int) -> None: ...

    def rows(self) -> NDArray[Any]: ...

    def unwatched(self, from_ns: int | None) -> None:
        """It is unwatched since then, and no record says so yet; None: it is watched."""

    def commit(self, number: int, frontier_ns: int) -> None:
        """The sink has the records of all rows, and all before this number."""


class MemoryRows:
    """For processes whose measurements need not survive kill -9."""

    def __init__(self) -> None:
        self._data = bytearray(_FIRST_ROWS * ROW.itemsize)
        self._end = 0

    def add(self, counted: memoryview, received_ns: int, body_bytes: int, flags: int, route: int) -> None:
        at = self._end
        if at == len(self._data):
            self._data.extend(bytes(len(self._data)))
        self._data[at : at + COUNTED_BYTES] = counted
        REST.pack_into(self._data, at + COUNTED_BYTES, received_ns, body_bytes, flags, route, 0)
        self._end = at + ROW.itemsize

    def rows(self) -> NDArray[Any]:
        return np.frombuffer(bytes(self._data[: self._end]), ROW)

    def unwatched(self, from_ns: int | None) -> None: ...

    def commit(self, number: int, frontier_ns: int) -> None:  # noqa: ARG002 -- the interface
        self._end = 0
