"""A record's header as JSON, and the checks of one that was read: it may come from anybody."""

from __future__ import annotations

import dataclasses
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

_DEFAULTS = {
    f.name: f.default if f.default is not dataclasses.MISSING else {}
    for f in dataclasses.fields(Header)
    if f.default is not dataclasses.MISSING or f.default_factory is not dataclasses.MISSING
}
_FIELDS = tuple(f.name for f in dataclasses.fields(Header))
_REQUIRED = frozenset(_FIELDS) - frozenset(_DEFAULTS)

BEGINS: Final = b'{"v":'  # as `encode` writes it


def encode(header: Header) -> bytes:
    """Without the fields at their defaults: most of a header is them."""
    values = {
        name: value
        for name in _FIELDS
        if (value := getattr(header, name)) != _DEFAULTS.get(name, dataclasses.MISSING)
    }
    return json.dumps({"v": FORMAT, **values}, separators=(",", ":"), default=dict).encode()


def decode(text: bytes) -> Header:
    """The header in this JSON; BadRecord, or what json.loads raises, where there is none."""
    raw = json.loads(text)
    if not isinstance(raw, dict):
        raise BadRecord("malformed", "the header is not a JSON object")
    version = raw.pop("v", None)
    if version != FORMAT:
        raise BadRecord("version", f"format {version!r}; this reader knows format {FORMAT}")
    if missing := _REQUIRED - raw.keys():
        raise BadRecord("malformed", f"the header lacks {', '.join(sorted(missing))}")
    for name, value in raw.items():
        check = _CHECKS.get(name)
        if check is None:
            unknown = ", ".join(sorted(raw.keys() - _CHECKS.keys()))
            raise BadRecord("malformed", f"the header has unknown fields: {unknown[:200]}")
        check(name, value)
    for name, kind in (("detached", Span), ("gaps", Gap)):
        if name in raw:
            raw[name] = tuple(kind(*item) for item in raw[name])
    if "clock" in raw:
        raw["clock"] = {stream: Clock(*item) for stream, item in raw["clock"].items()}
    return Header(**raw)


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
