"""Named blobs packed into one, so that a batch makes few calls to the state store."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from streaming.accounting import BadState

VERSION: Final = 1
_HEAD: Final = struct.Struct("<2sBI")  # magic, version, entries
_ENTRY: Final = struct.Struct("<HI")  # lengths of name and blob
_MAGIC: Final = b"IP"


def pack(blobs: Mapping[str, bytes]) -> bytes:
    """Returns the blobs as one, in the order of the mapping."""
    parts = [_HEAD.pack(_MAGIC, VERSION, len(blobs))]
    for name, blob in blobs.items():
        encoded = name.encode()
        parts += (_ENTRY.pack(len(encoded), len(blob)), encoded, blob)
    return b"".join(parts)


def unpack(data: bytes) -> dict[str, bytes]:
    """Returns blobs by name. Raises BadState where these bytes are of a newer version, or no pack."""
    try:
        magic, version, entries = _HEAD.unpack_from(data)
        if magic != _MAGIC or version > VERSION:
            raise BadState(
                f"the state is of form {magic!r} {version}, this version reads up to {VERSION}: run "
                "the version that wrote it, or give a new checkpoint, which is rebuilt from Kafka"
            )
        found, at = {}, _HEAD.size
        for _ in range(entries):
            name_length, blob_length = _ENTRY.unpack_from(data, at)
            at += _ENTRY.size
            name = data[at : at + name_length].decode()
            at += name_length
            found[name] = data[at : at + blob_length]
            at += blob_length
    except (struct.error, UnicodeDecodeError) as error:
        raise BadState(f"the state is damaged: {error}; give a new checkpoint") from None
    if at != len(data):
        raise BadState(f"the state is damaged: {len(data)} bytes, not {at}; give a new checkpoint")
    return found
