"""Frames between a process of a load and its run."""

from __future__ import annotations

import io
import json
import socket
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.experiment import frames


class Kept:
    """Takes what would go to the other side."""

    def __init__(self) -> None:
        self.data = b""

    def sendall(self, data: bytes) -> None:
        self.data += data


@given(
    st.lists(st.tuples(st.text(max_size=20), st.binary(max_size=200))),
    st.dictionaries(st.text(), st.integers()),
)
def test_frames_are_read_as_they_were_written(records: list[tuple[str, bytes]], told: dict[str, int]) -> None:
    """Names of any letters, records of any bytes."""
    out = Kept()
    writer = frames.Writer(cast("socket.socket", out))
    for path, record in records:
        writer.record(record, path)
    writer.status(told)
    *found, last = frames.read(io.BytesIO(out.data))
    assert found == [(frames.RECORD, path, record) for path, record in records]
    assert json.loads(last[2]) == told


@pytest.mark.parametrize("cut", [1, 6, 9, 12])
def test_a_frame_that_was_cut_is_refused(cut: int) -> None:
    """A process that was killed in the middle of one has told half of it."""
    out = Kept()
    frames.Writer(cast("socket.socket", out)).record(b"record", "path")
    with pytest.raises(ValueError, match="cut short"):
        list(frames.read(io.BytesIO(out.data[:cut])))


def test_what_is_no_frame_is_refused() -> None:
    """Before anything of it is kept."""
    with pytest.raises(ValueError, match="no frames"):
        list(frames.read(io.BytesIO(b"GET / HTTP/1.1\r\n")))
