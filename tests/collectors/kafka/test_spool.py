"""Records on disk: in order, bounded, and whole after whatever end."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.kafka.spool import Frame, Spool

_PLENTY = 1 << 30


def _segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.seg"))


def _records(frames: list[Frame]) -> list[bytes]:
    return [frame.record for frame in frames]


def test_in_order(tmp_path: Path) -> None:
    """What is put in comes out in the same order, once, with its key."""
    spool = Spool(tmp_path, _PLENTY)
    for n in range(10):
        assert spool.put(f"path-{n % 2}", b"%d" % n) == []
    frames = spool.take(4) + spool.take(100)
    assert _records(frames) == [b"%d" % n for n in range(10)]
    assert [frame.key for frame in frames[:2]] == ["path-0", "path-1"]
    assert spool.take(100) == []
    assert not spool.unread()


def test_restart_hands_out_again(tmp_path: Path) -> None:
    """What was not acknowledged when the process was killed is handed out by the next one."""
    spool = Spool(tmp_path, _PLENTY)
    for n in range(5):
        spool.put("p", b"%d" % n)
    spool.ack(spool.take(3)[0])
    again = Spool(tmp_path, _PLENTY)
    assert _records(again.take(100)) == [b"0", b"1", b"2", b"3", b"4"]
    again.put("p", b"5")
    assert _records(again.take(100)) == [b"5"]


def test_acknowledged_segments_are_deleted(tmp_path: Path) -> None:
    """A clean end with everything acknowledged leaves nothing on disk."""
    spool = Spool(tmp_path, _PLENTY)
    spool.put("p", b"x" * (2 << 20))
    spool.put("p", b"y")
    assert len(_segments(tmp_path)) == 2
    for frame in spool.take(100):
        spool.ack(frame)
    assert len(_segments(tmp_path)) == 1
    spool.close()
    assert _segments(tmp_path) == []
    assert spool.waiting_bytes == 0


def test_rewind(tmp_path: Path) -> None:
    """After a failure the same records come again, in order."""
    spool = Spool(tmp_path, _PLENTY)
    for n in range(3):
        spool.put("p", b"%d" % n)
    spool.take(2)
    spool.rewind()
    assert _records(spool.take(100)) == [b"0", b"1", b"2"]


def test_bound_drops_the_oldest(tmp_path: Path) -> None:
    """Over the bound the oldest segments go, and what was in them is told."""
    spool = Spool(tmp_path, 5 << 20)
    dropped: list[Frame] = []
    for n in range(10):
        dropped += spool.put("p", bytes([n]) * (1 << 20))
    assert [frame.record[0] for frame in dropped] == [0, 1, 2, 3, 4, 5]
    assert [frame.record[0] for frame in spool.take(100)] == [6, 7, 8, 9]
    assert spool.waiting_bytes <= 5 << 20


def test_bound_spares_what_is_on_its_way(tmp_path: Path) -> None:
    """A record that is being sent is not dropped: nobody could say whether it arrived."""
    spool = Spool(tmp_path, 3 << 20)
    for n in range(2):
        spool.put("p", bytes([n]) * (1 << 20))
    spool.take(1)
    dropped = spool.put("p", b"\2" * (1 << 20)) + spool.put("p", b"\3" * (1 << 20))
    assert [frame.record[0] for frame in dropped] == [1, 2]


@settings(max_examples=60)
@given(keep=st.integers(0, 400), junk=st.binary(max_size=30))
def test_torn_end(tmp_path_factory: object, keep: int, junk: bytes) -> None:
    """What was half written when the power failed is cut off; all before it is there."""
    folder = tmp_path_factory.mktemp("spool")  # type: ignore[attr-defined]  # pytest's own type is private
    spool = Spool(folder, _PLENTY)
    for n in range(6):
        spool.put("key", bytes([n]) * 50)
    (file,) = _segments(folder)
    whole = file.read_bytes()
    size = len(whole) // 6
    torn = whole[: min(keep, len(whole))] + junk
    file.write_bytes(torn)
    intact = sum(torn.startswith(whole[: n * size]) for n in range(1, 7))  # the junk may be what was missing
    again = Spool(folder, _PLENTY)
    frames = again.take(100)
    assert [frame.record for frame in frames] == [bytes([n]) * 50 for n in range(intact)]
    again.put("key", b"new")
    assert _records(again.take(100)) == [b"new"]


def test_damage_in_the_middle(tmp_path: Path) -> None:
    """A damaged segment is given up from there on, and the next one goes on."""
    spool = Spool(tmp_path, _PLENTY)
    for n in range(3):
        spool.put("p", bytes([n]) * (1 << 20))
    first, second, _ = _segments(tmp_path)
    data = bytearray(second.read_bytes())
    data[100] ^= 1
    second.write_bytes(data)
    assert [frame.record[0] for frame in spool.take(100)] == [0, 2]
    assert spool.damaged == 1
    first.unlink()
    spool.rewind()
    assert [frame.record[0] for frame in spool.take(100)] == [2]


def test_age_of_the_oldest(tmp_path: Path) -> None:
    """The age is of the oldest record that waits; nothing waiting has none."""
    spool = Spool(tmp_path, _PLENTY)
    assert spool.oldest_seconds() == 0
    spool.put("p", b"x")
    assert 0 <= spool.oldest_seconds() < 60


def test_nothing_waits_once_all_is_acknowledged(tmp_path: Path) -> None:
    """The file that is being written may still be there; what is in it does not count."""
    spool = Spool(tmp_path, _PLENTY)
    spool.put("p", b"x")
    assert spool.waiting_bytes > 0
    (frame,) = spool.take(10)
    assert spool.waiting_bytes > 0
    spool.ack(frame)
    assert len(_segments(tmp_path)) == 1
    assert spool.waiting_bytes == 0
    assert spool.oldest_seconds() == 0
    spool.put("p", b"y")
    assert spool.waiting_bytes > 0
    assert spool.oldest_seconds() < 60


def test_files_are_for_their_user_alone(tmp_path: Path) -> None:
    """They tell names of the network; a folder that is there already stays as it is."""
    (tmp_path / "state").mkdir(mode=0o755)
    Spool(tmp_path / "state" / "probe" / "spool", _PLENTY).put("p", b"x")
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "state").rglob("*")}
    assert modes == {"probe": 0o700, "spool": 0o700, f"{0:016d}.seg": 0o600}
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o755


def test_what_cannot_be_read_now_is_read_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process with too many open files loses nothing by it, nor by a start at such a moment."""
    spool = Spool(tmp_path, _PLENTY)
    spool.put("p", b"1")
    with _open_failing(monkeypatch, errno.EMFILE):
        with pytest.raises(OSError, match="Too many open files"):
            spool.take(100)
        with pytest.raises(OSError, match="Too many open files"):
            Spool(tmp_path, _PLENTY)
    assert _records(Spool(tmp_path, _PLENTY).take(100)) == [b"1"]
    assert _records(spool.take(100)) == [b"1"]
    assert spool.damaged == 0


def test_the_bound_waits_while_nobody_could_tell_what_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is dropped is told, also where it could not be read at first."""
    spool = Spool(tmp_path, 5 << 19)
    spool.put("p", b"\0" * (1 << 20))
    spool.put("p", b"\1" * (1 << 20))
    with _open_failing(monkeypatch, errno.EMFILE):
        assert spool.put("p", b"\2" * (1 << 20)) == []
    assert [frame.record[0] for frame in spool.put("p", b"\3")] == [0]


def test_files_that_are_gone(tmp_path: Path) -> None:
    """They are counted, and what is put down afterwards is read."""
    spool = Spool(tmp_path / "spool", _PLENTY)
    spool.put("p", b"\0" * (1 << 20))
    spool.put("p", b"\1" * (1 << 20))
    shutil.rmtree(tmp_path / "spool")
    assert spool.take(100) == []
    assert spool.damaged == 2
    with pytest.raises(FileNotFoundError):
        spool.put("p", b"3")
    (tmp_path / "spool").mkdir()
    spool.put("p", b"4")
    assert _records(spool.take(100)) == [b"4"]


@contextmanager
def _open_failing(monkeypatch: pytest.MonkeyPatch, number: int) -> Iterator[None]:
    def fail(path: Path, *_: object) -> None:
        raise OSError(number, os.strerror(number), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", fail)
        yield
