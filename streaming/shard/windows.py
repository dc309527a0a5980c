"""The windows of a shard in the state store: what all paths have of one window start is one value."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from streaming.accounting import BadState
from streaming.shard.packing import pack, unpack

WindowLoader = Callable[[int], bytes | None]

_VERSION: Final = 2
_LAGGARD_NS: Final = 120_000_000_000
_LAGGARDS: Final = 2  # values cleaned up in one snapshot
_KEPT: Final = 6  # packs that stay at hand: the open windows are written again and again


class ShardWindows:
    """Knows which starts are in the store, which paths each value holds, and which of them still need it.

    A value whose paths all need it no longer is removed unread; one that only silent paths hold on to is
    written once more, without the others. Sets of paths are bits of an integer.
    """

    def __init__(self, encoded: bytes | None = None) -> None:
        self.load: WindowLoader = lambda _: None
        self._bits: dict[str, int] = {}
        self._free: list[int] = []  # places among the bits, of paths that are gone
        self._held: dict[int, int] = {}
        self._needed: dict[int, int] = {}
        self._packs: dict[int, dict[str, bytes]] = {}
        self._changed: set[int] = set()
        if encoded:
            self._decode(encoded)

    def encode(self) -> bytes:
        index = {
            "v": _VERSION,
            "paths": {path: bit.bit_length() - 1 for path, bit in self._bits.items()},
            "windows": [
                [start, f"{held:x}", f"{self._needed[start]:x}"] for start, held in self._held.items()
            ],
        }
        return json.dumps(index, separators=(",", ":")).encode()

    def _decode(self, encoded: bytes) -> None:
        raw = json.loads(encoded)
        if raw["v"] != _VERSION:
            raise BadState(
                f"the shard's index is of version {raw['v']}, this version reads {_VERSION}: run the version "
                "that wrote it, or give a new checkpoint, which is rebuilt from Kafka"
            )
        self._bits = {path: 1 << place for path, place in raw["paths"].items()}
        self._free = sorted(set(range(max(raw["paths"].values(), default=0))) - set(raw["paths"].values()))
        self._held = {start: int(held, 16) for start, held, _ in raw["windows"]}
        self._needed = {start: int(needed, 16) for start, _, needed in raw["windows"]}

    def get(self, start_ns: int, path: str) -> bytes | None:
        if not self._needed.get(start_ns, 0) & self._bits.get(path, 0):
            return None
        return self._pack(start_ns).get(path)

    def put(self, start_ns: int, path: str, blob: bytes) -> None:
        bit = self._bits.get(path) or self._new_bit(path)
        self._pack(start_ns)[path] = blob
        self._needed[start_ns] = self._needed.get(start_ns, 0) | bit
        self._changed.add(start_ns)

    def drop(self, start_ns: int, path: str) -> None:
        """Say that this path needs it no longer."""
        if start_ns in self._needed:
            self._needed[start_ns] &= ~self._bits.get(path, 0)

    def drop_path(self, path: str) -> None:
        """Say that this path needs none of them any longer."""
        bit = self._bits.pop(path, 0)
        if bit:
            self._free.append(bit.bit_length() - 1)
        for start_ns in self._needed:
            self._needed[start_ns] &= ~bit

    def changes(self) -> dict[int, bytes | None]:
        """Returns what the store is to take over since the last call; None: it is to be removed."""
        found: dict[int, bytes | None] = {}
        for start_ns in [s for s, needed in self._needed.items() if not needed]:
            del self._needed[start_ns]
            self._packs.pop(start_ns, None)
            if self._held.pop(start_ns, 0):
                found[start_ns] = None
        self._changed.update(self._laggards())
        for start_ns in sorted(self._changed & self._needed.keys()):
            needed, blobs = self._needed[start_ns], self._pack(start_ns)
            kept = {path: blob for path, blob in blobs.items() if self._bits.get(path, 0) & needed}
            self._packs[start_ns] = kept
            self._held[start_ns] = needed
            found[start_ns] = pack(kept)
        self._changed = set()
        self._packs = {start: self._packs[start] for start in sorted(self._packs)[-_KEPT:]}
        return found

    def _laggards(self) -> list[int]:
        """Returns old starts whose values hold windows that nobody needs: a few, to be written again."""
        partly = [s for s, held in self._held.items() if held != self._needed[s]]
        limit = max(partly, default=0) - _LAGGARD_NS
        return sorted(s for s in partly if s < limit)[:_LAGGARDS]

    def _new_bit(self, path: str) -> int:
        place = self._free.pop() if self._free else len(self._bits)
        self._bits[path] = 1 << place
        return 1 << place

    def _pack(self, start_ns: int) -> dict[str, bytes]:
        found = self._packs.get(start_ns)
        if found is None:
            data = self.load(start_ns) if start_ns in self._held else None
            found = unpack(data) if data else {}
            self._packs[start_ns] = found
        return found
