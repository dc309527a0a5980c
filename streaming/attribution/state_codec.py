"""State as bytes and back: dataclasses as JSON, by their fields."""

from __future__ import annotations

import json
import zlib
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final, get_args, get_origin, get_type_hints

from streaming.attribution.series import Series

VERSION: Final = 1
_MOST_BYTES: Final = 512 << 20


class StateError(ValueError):
    """State is of a newer version, or damaged: whoever reads it begins anew."""


def encode(state: Any) -> bytes:
    """Return a dataclass, with all that is in it, as bytes."""
    text = json.dumps({"v": VERSION, "state": _plain(state)}, separators=(",", ":"), ensure_ascii=False)
    return zlib.compress(text.encode(), 1)


def decode(kind: type, data: bytes) -> Any:
    """Return what `encode` was given; raises StateError for anything else."""
    try:
        unpack = zlib.decompressobj()
        value = json.loads(unpack.decompress(data, _MOST_BYTES))
        version = value["v"]
        if version != VERSION:
            raise StateError(f"attribution's state has version {version!r}; this program knows {VERSION}")
        return _made(kind, value["state"])
    except StateError:
        raise
    except (zlib.error, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise StateError(f"attribution's state cannot be read: {type(error).__name__}: {error}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Series):
        return value.encode()
    if is_dataclass(value):
        kind: Any = type(value)
        return {name: _plain(getattr(value, name)) for name in _fields(kind)}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return value


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.init)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _made(kind: Any, value: Any) -> Any:
    if kind is Series:
        return Series(value)
    if is_dataclass(kind):
        made: Any = kind
        hints = _hints(made)
        return made(**{name: _made(hints[name], item) for name, item in value.items()})
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is dict:
        key = int if arguments[0] is int else str
        return {key(name): _made(arguments[1], item) for name, item in value.items()}
    if origin is tuple:
        return tuple(value)
    if origin in {list, set}:
        return origin(_made(arguments[0], item) for item in value)
    return value
