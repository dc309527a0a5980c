"""What generators tell, however a pipe cuts it."""

from __future__ import annotations

import io
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.loads.frames import Frames, RecordFrame, StandFrame, write_record, write_stand

FRAMES = st.one_of(
    st.builds(RecordFrame, st.text("abc/ü", min_size=1, max_size=20), st.binary(max_size=100)),
    st.builds(StandFrame, st.dictionaries(st.text(max_size=5), st.integers(), max_size=3)),
)


@given(frames=st.lists(FRAMES, max_size=10), cuts=st.lists(st.integers(0, 500), max_size=10))
def test_frames_are_whole_again(frames: list[RecordFrame | StandFrame], cuts: list[int]) -> None:
    out = io.BytesIO()
    for frame in frames:
        if isinstance(frame, RecordFrame):
            write_record(out, frame.path, frame.record)
        else:
            write_stand(out, frame.stand)
    data, reader = out.getvalue(), Frames()
    places = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    found = [frame for begin, end in pairwise(places) for frame in reader.take(data[begin:end])]
    assert found == frames


def test_what_no_generator_writes_is_refused() -> None:
    """A length of gigabytes asks for no memory."""
    with pytest.raises(ValueError, match="a frame of 4294967295 bytes"):
        list(Frames().take(b"\xff" * 8))
