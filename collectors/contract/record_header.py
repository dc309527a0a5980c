"""A record's header as JSON. One that is read is checked, for anybody may have written it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, get_args

from collectors.contract.records import (
    FORMAT,
    NUMBERS_BELOW,
    UNSENT_REASONS,
    BadRecord,
    Clock,
    Gap,
    Header,
    Kind,
    Link,
    Role,
    Span,
)
from collectors.contract.untrusted_text import read_json

_DEFAULTS: Final = Header._field_defaults
OF_RUN: Final = (
    *("mesh", "path", "address", "source", "target", "role", "name", "run", "observed_from_ns"),
    *("senders", "receivers", "multicast", "via_broker", "presettled", "warmup"),
)
_OF_RECORD: Final = tuple(name for name in Header._fields if name not in OF_RUN)
_BASE: Final = "base"
_BLOCK: Final = 64  # bytes
_ESCAPE: Final = b"\\u"

_ITEMS: Final = 1_024  # of a list; each costs the accounting some time

BEGINS: Final = b'{"kind":'  # the text of the record itself, as `encode` writes it

Values = list[Any]  # those of Header's fields in their order, then the base
Reader = Callable[[str, Any], Any]
Readers = Mapping[str, tuple[int, Reader]]


def encode(header: Header, base: int = 0) -> tuple[bytes, bytes]:
    """Return the part that is the same in all records of the run, and the rest.

    Fields at their defaults are left out. The rows' numbers are counted from `base`.
    """
    of_run = {"v": FORMAT, **_told(header, OF_RUN)}
    text = _json(_told(header, _OF_RECORD) | ({_BASE: base} if base else {}))
    # Blanks make most texts as long as each other, and with that the bytes around them the same.
    return _json(of_run), text.ljust(-(-len(text) // _BLOCK) * _BLOCK)


def _told(header: Header, names: Sequence[str]) -> dict[str, Any]:
    nothing = object()
    return {name: value for name in names if (value := getattr(header, name)) != _DEFAULTS.get(name, nothing)}


def _json(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, separators=(",", ":"), default=dict).encode()


def decode_run(text: bytes) -> Values:
    """Read the part that is the same in all records of a run; raises BadRecord, or what json raises."""
    raw = _object(text)
    version = raw.pop("v", None)
    if version != FORMAT:
        raise BadRecord("version", f"format {version!r}; this reader knows format {FORMAT}")
    values = [*_UNTOLD, 0]
    _take(values, raw, _READERS_OF_RUN)
    _whole(values, OF_RUN)
    return values


def decode(of_run: Values, text: bytes) -> tuple[Header, int]:
    """Read the rest; return the whole header and the base. Raises BadRecord, or what json raises."""
    values = of_run.copy()
    _take(values, _object(text), _READERS_OF_RECORD)
    base = values.pop()
    for place in _NEEDED:
        if values[place] is _MISSING:
            _whole(values, _OF_RECORD)
    return Header._make(values), base


def _object(text: bytes) -> dict[str, Any]:
    # Of what has escapes each has to be one that can be written again.
    raw = read_json(text) if _ESCAPE in text else _parse(text.decode())
    if not isinstance(raw, dict):
        raise BadRecord("malformed", "the header is not a JSON object")
    return raw


def _take(values: Values, raw: Mapping[str, Any], readers: Readers) -> None:
    for name, value in raw.items():
        found = readers.get(name)
        if found is None:
            unknown = ", ".join(sorted(raw.keys() - readers.keys()))
            raise BadRecord("malformed", f"the header has unknown fields: {unknown[:200]}")
        place, read = found
        values[place] = read(name, value)


def _whole(values: Values, names: Sequence[str]) -> None:
    missing = ", ".join(sorted(name for name in names if values[_PLACES[name]] is _MISSING))
    if missing:
        raise BadRecord("malformed", f"the header lacks {missing}")


# Each of these returns the value as the header has it, or raises BadRecord.


def _text(longest: int, *, printable: bool) -> Reader:
    kind = "printable characters" if printable else "characters"

    def read(name: str, value: Any) -> str:
        if not isinstance(value, str) or len(value) > longest or (printable and not value.isprintable()):
            raise BadRecord("malformed", f"header field {name} is not a text of at most {longest} {kind}")
        return value

    return read


def _below(limit: int) -> Reader:
    def read(name: str, value: Any) -> int:
        if type(value) is not int or not 0 <= value < limit:
            power = limit.bit_length() - 1
            raise BadRecord("malformed", f"header field {name} is not a whole number from 0 to 2^{power}")
        return value

    return read


_int: Final = _below(NUMBERS_BELOW)
_count: Final = _below(1 << 40)  # sums of them stay far below 64 bits
# Rows have many of these: what cannot be shown would be escaped, and take the most room.
_name: Final = _text(192, printable=True)
_key: Final = _text(512, printable=True)


def _flag(name: str, value: Any) -> bool:
    if type(value) is not bool:
        raise BadRecord("malformed", f"header field {name} is not true or false")
    return value


def _one_of(*allowed: str) -> Reader:
    def read(name: str, value: Any) -> Any:
        if value not in allowed:
            raise BadRecord("malformed", f"header field {name} is none of {', '.join(allowed)}")
        return value

    return read


def _run(name: str, value: Any) -> str:
    if not isinstance(value, str) or not _is_run(value):
        raise BadRecord("malformed", f"header field {name} is not 16 hexadecimal digits")
    return value


def _tuples(kind: type[Gap | Span]) -> Reader:
    width = len(kind._fields)

    def read(name: str, value: Any) -> Any:
        if not isinstance(value, list) or len(value) > _ITEMS:
            raise BadRecord("malformed", f"header field {name} is not a list of at most {_ITEMS}")
        for item in value:
            if not isinstance(item, list) or len(item) != width:
                raise BadRecord("malformed", f"header field {name} has an item that is not {width} numbers")
            for number in item:
                _int(name, number)
        return tuple(kind(*item) for item in value)

    return read


def _counts(keys: Sequence[str] | None) -> Reader:
    def read(name: str, value: Any) -> Any:
        if not isinstance(value, dict) or len(value) > 256:  # noqa: PLR2004 -- a bound on entries
            raise BadRecord("malformed", f"header field {name} is not a small JSON object")
        for key, count in value.items():
            if keys is not None and key not in keys:
                raise BadRecord("malformed", f"header field {name} has unknown key {key[:50]}")
            _key(name, key)
            _count(name, count)
        return value

    return read


def _clocks(name: str, value: Any) -> dict[str, Clock]:
    if not isinstance(value, dict) or len(value) > 256:  # noqa: PLR2004 -- a bound on entries
        raise BadRecord("malformed", f"header field {name} is not a small JSON object")
    for stream, pair in value.items():
        _run(name, stream)
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) is not int:  # noqa: PLR2004
            raise BadRecord("malformed", f"header field {name} has an item that is not offset and bound")
        _int(name, abs(pair[0]))  # an offset may be negative
        _int(name, pair[1])
    return {stream: Clock(*pair) for stream, pair in value.items()}


def _oldest(name: str, value: Any) -> int | None:
    return None if value is None else _int(name, value)


_READ: Final[Mapping[str, Reader]] = {
    **dict.fromkeys(("mesh", "source", "target", "name", "peer"), _name),
    **dict.fromkeys(("path", "address"), _text(1_024, printable=False)),
    **dict.fromkeys(("observed_from_ns", "frontier_ns", "second", "rfc3550_ns"), _int),
    **dict.fromkeys(
        (
            *("number", "senders", "receivers", "body_bytes"),
            *("foreign", "revision", "due", "backlog"),
        ),
        _count,
    ),
    **dict.fromkeys(("multicast", "via_broker", "presettled", "warmup"), _flag),
    "kind": _one_of(*get_args(Kind)),
    "role": _one_of(*get_args(Role)),
    "link": _one_of(*get_args(Link)),
    "run": _run,
    "stream": _run,
    **dict.fromkeys(("detached", "unwatched"), _tuples(Span)),
    "gaps": _tuples(Gap),
    "routes": _counts(None),
    "unsent": _counts(UNSENT_REASONS),
    "clock": _clocks,
    "oldest_due_ns": _oldest,
}
_PLACES: Final = {name: place for place, name in enumerate((*Header._fields, _BASE))}
_MISSING: Final = object()
_UNTOLD: Final = [_DEFAULTS.get(name, _MISSING) for name in Header._fields]
_NEEDED: Final = [_PLACES[name] for name in _OF_RECORD if name not in _DEFAULTS]
_READERS_OF_RUN: Final[Readers] = {name: (_PLACES[name], _READ[name]) for name in OF_RUN}
_READERS_OF_RECORD: Final[Readers] = {
    _BASE: (_PLACES[_BASE], _int),
    **{name: (_PLACES[name], _READ[name]) for name in _OF_RECORD},
}
_is_run: Final = re.compile("[0-9a-f]{16}").fullmatch
_parse: Final = json.JSONDecoder().decode
