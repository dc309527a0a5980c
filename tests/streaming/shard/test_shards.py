"""How paths are spread, packed and kept, with no Spark."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.accounting import BadState
from streaming.shard.packing import pack, unpack
from streaming.shard.windows import ShardWindows
from streaming.spark.lanes import Layout

SECOND = 1_000_000_000


@given(st.integers(1, 24), st.integers(1, 24))
def test_each_partition_is_one_lanes(lanes: int, partitions: int) -> None:
    """No lane has two more than another."""
    if lanes > partitions:
        return
    layout = Layout(lanes, partitions)
    read = [layout.partitions_of(lane) for lane in range(lanes)]
    assert sorted(number for each in read for number in each) == list(range(partitions))
    assert max(map(len, read)) - min(map(len, read)) <= 1


@pytest.mark.parametrize(("lanes", "partitions"), [(0, 1), (5, 4), (8, 0), (5000, 6000)])
def test_a_layout_that_cannot_be_is_refused(lanes: int, partitions: int) -> None:
    """Before anything is written to a checkpoint."""
    with pytest.raises(ValueError, match="lanes over"):
        Layout(lanes, partitions)


@given(st.dictionaries(st.text(max_size=20), st.binary(max_size=50), max_size=8))
def test_what_is_packed_comes_back(blobs: dict[str, bytes]) -> None:
    """Names and bytes, in their order."""
    assert list(unpack(pack(blobs)).items()) == list(blobs.items())


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"IP\x02\0\0\0\0", "this version reads up to 1"),
        (b"XX\x01\0\0\0\0", "this version reads"),
        (b"IP", "damaged"),
        (pack({"a": b"123"})[:-1], "damaged"),
        (pack({"a": b"123"}) + b"x", "damaged"),
    ],
)
def test_a_pack_of_another_form_is_refused(data: bytes, said: str) -> None:
    """Newer state says which way out there is; damaged state says that it is damaged."""
    with pytest.raises(BadState, match=said):
        unpack(data)


PATHS = ("a", "b", "c")
_steps = st.lists(
    st.tuples(
        st.sampled_from(("put", "drop", "drop_path", "batch", "restart")),
        st.integers(0, 5),
        st.sampled_from(PATHS),
        st.binary(min_size=1, max_size=3),
    ),
    max_size=60,
)


@given(_steps)
def test_the_store_holds_what_paths_need(steps: list[tuple[str, int, str, bytes]]) -> None:
    """Whatever paths put and drop, in whatever batches: what is needed is there, the rest goes."""
    store: dict[int, bytes] = {}
    wanted: dict[tuple[int, str], bytes] = {}
    windows = ShardWindows()

    def batch() -> None:
        for start, blob in windows.changes().items():
            if blob is None:
                del store[start]  # was there
            else:
                store[start] = blob

    windows.load = store.get
    for what, window, path, blob in steps:
        start = window * 50 * SECOND
        if what == "put":
            windows.put(start, path, blob)
            wanted[start, path] = blob
        elif what == "drop":
            windows.drop(start, path)
            wanted.pop((start, path), None)
        elif what == "drop_path":
            windows.drop_path(path)
            wanted = {key: kept for key, kept in wanted.items() if key[1] != path}
        elif what == "batch":
            batch()
        else:
            batch()
            windows, before = ShardWindows(windows.encode()), windows
            assert windows.encode() == before.encode()
            windows.load = store.get
        for (kept_start, kept_path), kept in wanted.items():
            assert windows.get(kept_start, kept_path) == kept
    batch()
    assert set(store) == {start for start, _ in wanted}


def test_a_silent_path_does_not_keep_the_others_windows() -> None:
    """A value that only a silent path needs is written once more, with that path alone."""
    windows, store = ShardWindows(), dict[int, bytes]()
    windows.load = store.get
    for second in range(0, 600, 5):
        windows.put(second * SECOND, "silent", b"s")
        windows.put(second * SECOND, "busy", b"b")
    store |= {start: blob for start, blob in windows.changes().items() if blob}
    for second in range(0, 600, 5):
        windows.drop(second * SECOND, "busy")
    for _ in range(100):
        store |= {start: blob for start, blob in windows.changes().items() if blob}
    assert unpack(store[0]) == {"silent": b"s"}
    left = [start for start, blob in store.items() if "busy" in unpack(blob)]
    assert left
    assert min(left) >= (600 - 130) * SECOND
