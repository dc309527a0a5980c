"""A record's header as JSON, and the checks of one that was read: it may come from anybody."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

from collectors.records import (
    FORMAT,
    MAX_ROWS,
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

_DEFAULTS: Final = Header._field_defaults
_REQUIRED: Final = frozenset(Header._fields) - _DEFAULTS.keys()
OF_RUN: Final = (
    *("mesh", "path", "address", "source", "target", "role", "name", "run", "observed_from_ns"),
    *("senders", "receivers", "multicast", "via_broker", "presettled", "warmup"),
)
_OF_RECORD: Final = tuple(name for name in Header._fields if name not in OF_RUN)
_BASE: Final = "base"
_BLOCK: Final = 64  # bytes

BEGINS: Final = b'{"kind":'  # the text of the record itself, as `encode` writes it

Fields = Mapping[str, Any]


def encode(header: Header, base: int = 0) -> tuple[bytes, bytes]:
    """What is the same in all records of the run, and what is not. Fields at their defaults are left out.

    `base`: the number from which the rows' numbers are told.
    """
    of_run = {"v": FORMAT, **_told(header, OF_RUN)}
    text = _json(_told(header, _OF_RECORD) | ({_BASE: base} if base else {}))
    # Blanks make most texts as long as each other, and with that the bytes around them the same.
    return _json(of_run), text.ljust(-(-len(text) // _BLOCK) * _BLOCK)


def _told(header: Header, names: Sequence[str]) -> dict[str, Any]:
    nothing = object()
    return {name: value for name in names if (value := getattr(header, name)) != _DEFAULTS.get(name, nothing)}


def _json(fields: Fields) -> bytes:
    return json.dumps(fields, separators=(",", ":"), default=dict).encode()


def decode_run(text: bytes) -> Fields:
    """The fields of all records of a run; BadRecord, or what json raises, where there are none."""
    raw = _object(text)
    version = raw.pop("v", None)
    if version != FORMAT:
        raise BadRecord("version", f"format {version!r}; this reader knows format {FORMAT}")
    _checked(raw, _CHECKS_OF_RUN)
    return raw


def decode(of_run: Fields, text: bytes) -> tuple[Header, int]:
    """The header in this JSON and the run's, and the base; BadRecord, or what json raises, where none is."""
    raw = _object(text)
    _checked(raw, _CHECKS_OF_RECORD)
    base = raw.pop(_BASE, 0)
    for name, kind in _ITEMS:
        if name in raw:
            raw[name] = tuple(kind(*item) for item in raw[name])
    if "clock" in raw:
        raw["clock"] = {stream: Clock(*item) for stream, item in raw["clock"].items()}
    raw.update(of_run)
    try:
        return Header(**raw), base
    except TypeError:
        missing = ", ".join(sorted(_REQUIRED - raw.keys()))
        raise BadRecord("malformed", f"the header lacks {missing}") from None


def _object(text: bytes) -> dict[str, Any]:
    raw = _parse(text.decode())
    if not isinstance(raw, dict):
        raise BadRecord("malformed", "the header is not a JSON object")
    return raw


def _checked(raw: Fields, checks: Mapping[str, Any]) -> None:
    for name, value in raw.items():
        check = checks.get(name)
        if check is None:
            unknown = ", ".join(sorted(raw.keys() - checks.keys()))
            raise BadRecord("malformed", f"the header has unknown fields: {unknown[:200]}")
        check(name, value)


def _text(name: str, value: Any) -> None:
    if not isinstance(value, str) or len(value) > 1024:  # noqa: PLR2004 -- a bound on names
        raise BadRecord("malformed", f"header field {name} is not a text of at most 1024 characters")


def _int(name: str, value: Any) -> None:
    if type(value) is not int or not 0 <= value < NUMBERS_BELOW:
        raise BadRecord("malformed", f"header field {name} is not a whole number from 0 to 2^62")


def _flag(name: str, value: Any) -> None:
    if type(value) is not bool:
        raise BadRecord("malformed", f"header field {name} is not true or false")


def _one_of(*allowed: str) -> Any:
    def check(name: str, value: Any) -> None:
        if value not in allowed:
            raise BadRecord("malformed", f"header field {name} is none of {', '.join(allowed)}")

    return check


def _run(name: str, value: Any) -> None:
    if not isinstance(value, str) or len(value) != 16 or not set(value) <= set("0123456789abcdef"):  # noqa: PLR2004
        raise BadRecord("malformed", f"header field {name} is not 16 hexadecimal digits")


def _tuples(width: int) -> Any:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, list) or len(value) > MAX_ROWS:
            raise BadRecord("malformed", f"header field {name} is not a short list")
        for item in value:
            if not isinstance(item, list) or len(item) != width:
                raise BadRecord("malformed", f"header field {name} has an item that is not {width} numbers")
            for number in item:
                _int(name, number)

    return check


def _counts(keys: Sequence[str] | None) -> Any:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, dict) or len(value) > 256:  # noqa: PLR2004 -- a bound on entries
            raise BadRecord("malformed", f"header field {name} is not a small JSON object")
        for key, count in value.items():
            if keys is not None and key not in keys:
                raise BadRecord("malformed", f"header field {name} has unknown key {key[:50]}")
            _int(name, count)

    return check


def _clocks(name: str, value: Any) -> None:
    if not isinstance(value, dict) or len(value) > 256:  # noqa: PLR2004 -- a bound on entries
        raise BadRecord("malformed", f"header field {name} is not a small JSON object")
    for stream, pair in value.items():
        _run(name, stream)
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) is not int:  # noqa: PLR2004
            raise BadRecord("malformed", f"header field {name} has an item that is not offset and bound")
        _int(name, abs(pair[0]))  # an offset may be negative
        _int(name, pair[1])


def _oldest(name: str, value: Any) -> None:
    if value is not None:
        _int(name, value)


_CHECKS: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("mesh", "path", "address", "source", "target", "name"), _text),
    **dict.fromkeys(
        (
            *("number", "observed_from_ns", "frontier_ns", "senders", "receivers", "second", "body_bytes"),
            *("rfc3550_ns", "foreign", "revision", "due", "backlog"),
        ),
        _int,
    ),
    **dict.fromkeys(("multicast", "via_broker", "presettled", "warmup"), _flag),
    "kind": _one_of(*get_args(Kind)),
    "role": _one_of(*get_args(Role)),
    "link": _one_of(*get_args(Link)),
    "run": _run,
    "stream": _run,
    "detached": _tuples(2),
    "gaps": _tuples(4),
    "routes": _counts(None),
    "unsent": _counts(UNSENT_REASONS),
    "clock": _clocks,
    "oldest_due_ns": _oldest,
}
_CHECKS_OF_RUN: Final = {name: _CHECKS[name] for name in OF_RUN}
_CHECKS_OF_RECORD: Final = {_BASE: _int, **{name: _CHECKS[name] for name in _OF_RECORD}}
_ITEMS: Final = (("detached", Span), ("gaps", Gap))
_parse: Final = json.JSONDecoder().decode
