"""Which requests make a poll of a broker, and what their replies come to; nothing of sockets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from collectors.broker import object_names, schema
from collectors.broker.client import Read, Request, Search
from collectors.broker.schema import Bean, Product
from collectors.config.model import Queues
from collectors.contract.untrusted_text import clean, matches

Row = dict[str, Any]

MAX_NAMED: Final = 100  # pools, garbage collectors: of each kind beside queues and addresses
_BIG: Final = 1 << 63
_HTTP_OK: Final = 200
_HTTP_NOT_FOUND: Final = 404
_SLUG: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of a poll and the kind of MBean it is about."""

    bean: Bean
    request: Request


@dataclass(slots=True)
class Choice:
    """The queues and addresses to ask for by name where there are more than the limit; None: by pattern."""

    beans: dict[str, tuple[str, ...]] | None = None
    omitted: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class BrokerView:
    """What a broker said in one poll."""

    product: Product
    at_ns: int
    steady_ns: int
    beans: dict[str, list[Row]]
    pools: dict[str, dict[str, int]] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    omitted: dict[str, int] = field(default_factory=dict)

    def one(self, bean: str) -> Row:
        """The row of an MBean that exists once; empty where it could not be read."""
        rows = self.beans.get(bean)
        return rows[0] if rows else {}

    @property
    def start_ms(self) -> int | None:
        start: int | None = self.one("runtime").get("start_ms")
        return start


def detection() -> list[Search]:
    """Which broker is it? One search for each product, in the order of schema.PRODUCTS."""
    return [Search(product.broker.pattern) for product in schema.PRODUCTS]


def detected(replies: Sequence[Any]) -> Product | None:
    """The product whose broker MBean is there."""
    for product, reply in zip(schema.PRODUCTS, replies, strict=True):
        if isinstance(reply, Mapping) and reply.get("status") == _HTTP_OK and reply.get("value"):
            return product
    return None


def census(product: Product) -> list[Search]:
    """The names of all queues and addresses, to see whether they are too many to ask for by pattern."""
    beans = [bean for bean in (product.queue, product.address) if bean]
    return [Search(bean.pattern.format(queue="*")) for bean in beans]


def choose(product: Product, queues: Queues, replies: Sequence[Any]) -> Choice:
    """By name as soon as more match than the limit: the first by name, the same ones at each poll."""
    choice = Choice({})
    too_many = False
    beans = [bean for bean in (product.queue, product.address) if bean]
    for bean, reply in zip(beans, replies, strict=True):
        value = reply.get("value") if isinstance(reply, Mapping) else None
        names = [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
        wanted = sorted(name for name in names if _wanted(bean, name, queues))
        assert choice.beans is not None  # noqa: S101 -- made above
        choice.beans[bean.name] = tuple(wanted[: queues.limit])
        choice.omitted[bean.name] = len(names) - len(wanted[: queues.limit])
        too_many = too_many or len(wanted) > queues.limit
    if not too_many:
        choice.beans = None
    return choice


def _wanted(bean: Bean, name: str, queues: Queues) -> bool:
    try:
        keys = object_names.parse(name)
    except ValueError:
        return False
    return matches(keys.get(bean.keys[-1][0], ""), queues.include)


def requests(product: Product, queues: Queues, choice: Choice) -> list[Asked]:
    """All of a poll's requests: the broker, its JVM, and the queues and addresses wanted."""
    found = [Asked(bean, Read(bean.pattern, tuple(bean.wanted))) for bean in (product.broker, *schema.JVM)]
    for bean in (product.queue, product.address):
        if bean is None:
            continue
        if choice.beans is None:
            patterns: Sequence[str] = sorted(_server_patterns(bean, queues))
        else:
            patterns = choice.beans[bean.name]
        found += [Asked(bean, Read(pattern, tuple(bean.wanted))) for pattern in patterns]
    return found


def _server_patterns(bean: Bean, queues: Queues) -> Iterator[str]:
    quoted = [object_names.quote_pattern(pattern) for pattern in queues.include]
    if (bean.name == "queue" and bean.pattern.startswith("org.apache.activemq:")) or None in quoted:
        # Classic does not quote names that need no quotes; the filter is applied to what comes.
        quoted = ["*"]
    yield from {bean.pattern.format(queue="*" if text == '"*"' else text) for text in quoted}


def read(
    asked: Sequence[Asked], replies: Sequence[Any], product: Product, queues: Queues, now_ns: tuple[int, int]
) -> BrokerView:
    """The view of a poll; what is wrong with single MBeans is counted, and the rest holds.

    `now_ns` is the wall clock and a steady one.
    """
    view = BrokerView(product, *now_ns, beans={})
    known: dict[str, set[tuple[str, ...]]] = {}
    for item, reply in zip(asked, replies, strict=True):
        rows = view.beans.setdefault(item.bean.name, [])
        seen = known.setdefault(item.bean.name, set())
        for row in _rows(item, reply, view):
            if item.bean in {product.queue, product.address} and not matches(
                row[item.bean.keys[-1][1]], queues.include
            ):
                continue
            identity = _identity(item.bean, row)
            if identity in seen:  # of two patterns that both match it
                continue
            seen.add(identity)
            rows.append(row)
    limits = {bean: queues.limit for bean in (product.queue, product.address) if bean}
    for bean in {item.bean for item in asked}:
        limit = limits.get(bean, MAX_NAMED)
        if len(rows := view.beans[bean.name]) > limit:
            rows.sort(key=lambda row: _identity(bean, row))
            view.omitted[bean.name] = len(rows) - limit
            del rows[limit:]
    view.pools = _pools(view)
    return view


def _identity(bean: Bean, row: Row) -> tuple[str, ...]:
    return tuple(row[name] for _, name in bean.keys)


def _rows(item: Asked, reply: Any, view: BrokerView) -> Iterator[Row]:
    bean = item.bean
    status = reply.get("status") if isinstance(reply, Mapping) else None
    if status != _HTTP_OK:
        # A queue or a kind of MBean that is not there is no fault: queues go, and JVMs differ.
        if status != _HTTP_NOT_FOUND:
            error = str(reply.get("error"))[:200] if isinstance(reply, Mapping) else "no JSON object"
            known = type(status) is int and 100 <= status < 600  # noqa: PLR2004 -- HTTP's
            _fault(view, f"status_{status}" if known else "shape", bean, error)
        return
    value = reply.get("value")
    pattern = isinstance(item.request, Read) and "*" in item.request.mbean
    pattern = pattern or (isinstance(value, Mapping) and bool(value) and all(":" in name for name in value))
    if not isinstance(value, Mapping):
        _fault(view, "shape", bean, "the value is no JSON object")
        return
    found = value.items() if pattern else [(item.request.mbean, value)]
    for name, attributes in found:
        try:
            keys = object_names.parse(name)
            row: Row = {here: clean(keys[there]) for there, here in bean.keys}
        except (ValueError, KeyError):
            _fault(view, "object_name", bean, f"{name[:100]!r}")
            continue
        if not isinstance(attributes, Mapping):
            _fault(view, "shape", bean, "the attributes are no JSON object")
            continue
        for attribute in bean.attributes:
            raw = attributes.get(attribute.wire)
            try:
                row[attribute.name] = None if raw is None else _READ[attribute.type](raw)
            except (TypeError, ValueError):
                row[attribute.name] = None
                missing = isinstance(raw, str) and raw.startswith("ERROR")
                if not missing:  # an attribute that this version does not have is no fault
                    _fault(view, "value_of_wrong_type", bean, f"{attribute.wire} is {str(raw)[:50]!r}")
        yield row


def _fault(view: BrokerView, reason: str, bean: Bean, text: str) -> None:
    view.faults[reason] += 1
    if len(view.notes) < 100:  # noqa: PLR2004 -- a bound on what is kept for the log
        view.notes.append(f"{reason}: {bean.name}: {text}")


def _pools(view: BrokerView) -> dict[str, dict[str, int]]:
    """Memory by the pool's common name; pools of one common name are added up."""
    found: dict[str, dict[str, int]] = {}
    parts = [(name, view.one("memory").get(name)) for name in ("heap", "non_heap")]
    for row in view.beans.get("pool", []):
        name = schema.POOLS.get(row["pool"]) or _SLUG.sub("_", row["pool"].lower()).strip("_")
        parts.append((name or "other", row["usage"]))
    for name, usage in parts:
        if usage:
            sums = found.setdefault(name, {})
            for stat, value in usage.items():
                sums[stat] = sums.get(stat, 0) + value
    return found


def _number(value: Any) -> int:
    return int(_bounded(value))


def _ratio(value: Any) -> float:
    return float(_bounded(value))


def _bounded(value: Any) -> int | float:
    """A number that Java can have; neither NaN nor an infinity is between two others."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_BIG < value < _BIG:
        raise TypeError
    return value


def _percent(value: Any) -> float:
    return _ratio(value) / 100


def _load(value: Any) -> float | None:
    load = _ratio(value)
    return load if load >= 0 else None  # -1 where the system does not tell


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or value.startswith("ERROR"):
        raise TypeError
    return clean(value)


def _usage(value: Any) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise TypeError
    usage = {stat: _number(value[stat]) for stat in schema.USAGE if value.get(stat) is not None}
    return {stat: amount for stat, amount in usage.items() if amount >= 0}  # -1 means that there is none


_READ: Final = {
    "number": _number,
    "ratio": _ratio,
    "percent": _percent,
    "load": _load,
    "flag": _flag,
    "text": _text,
    "usage": _usage,
}
