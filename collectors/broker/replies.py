"""Reads Jolokia's replies into checked rows; it knows no sockets."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from collectors.broker import links, object_names, schema
from collectors.broker.client import Read
from collectors.broker.poll import BeanRequest
from collectors.broker.schema import Bean, Product
from collectors.broker.snapshot import BrokerSnapshot, Row
from collectors.config.model import Queues
from collectors.contract.untrusted_text import encodable, matches
from collectors.polling.attributes import Type

MAX_NAMED: Final = 100  # pools, garbage collectors: of each kind beside queues and addresses
MAX_NOTES: Final = 100
_BIG: Final = 1 << 63
_SLUG: Final = re.compile(r"[^a-z0-9]+")


def read_replies(
    asked: Sequence[BeanRequest],
    replies: Sequence[Any],
    product: Product,
    queues: Queues,
    now_ns: tuple[int, int],
    of_paths: Collection[str] = (),
) -> BrokerSnapshot:
    """Return what a poll found; what is wrong with single MBeans is counted, and the rest holds.

    `now_ns` is the wall clock and a steady one; queues and addresses `of_paths` are never left out.
    """
    snapshot = BrokerSnapshot(product, *now_ns, beans={})
    several = (
        *product.destinations,
        *product.links.beans,
    )  # of these there may be as many as the config says
    known: dict[str, set[tuple[str, ...]]] = {}
    for item, reply in zip(asked, replies, strict=True):
        bean = item.bean
        rows = snapshot.beans.setdefault(bean.name, [])
        seen = known.setdefault(bean.name, set())
        filtered = bean in product.destinations
        for row in _rows(item, reply, snapshot):
            name = row[bean.keys[-1][1]] if filtered else ""
            if filtered and name not in of_paths and not _is_wanted(name, product, queues):
                continue
            identity = _identity(bean, row)
            if identity in seen:  # of two patterns that both match it
                continue
            seen.add(identity)
            rows.append(row)
    for bean in {item.bean for item in asked}:
        limit = queues.limit if bean in several else MAX_NAMED
        if len(rows := snapshot.beans[bean.name]) > limit:
            always = of_paths if bean in product.destinations else ()
            limit = max(limit, sum(_identity(bean, row)[-1] in always for row in rows))
            rows.sort(key=lambda row: (_identity(bean, row)[-1] not in always, _identity(bean, row)))
            entity = schema.LINK.name if bean in product.links.beans else bean.name
            snapshot.omitted[entity] = snapshot.omitted.get(entity, 0) + len(rows) - limit
            del rows[limit:]
    snapshot.beans[schema.LINK.name] = links.rows(snapshot)
    snapshot.pools = _pools(snapshot)
    return snapshot


def _is_wanted(name: str, product: Product, queues: Queues) -> bool:
    return not name.startswith(product.internal) and matches(name, queues.include)


def _identity(bean: Bean, row: Row) -> tuple[str, ...]:
    return tuple(row[name] for _, name in bean.keys)


def _rows(item: BeanRequest, reply: Any, snapshot: BrokerSnapshot) -> Iterator[Row]:
    bean = item.bean
    status = reply.get("status") if isinstance(reply, Mapping) else None
    if status != HTTPStatus.OK:
        # A queue or a kind of MBean that is not there is no fault: queues go, and JVMs differ.
        if status != HTTPStatus.NOT_FOUND:
            error = str(reply.get("error"))[:200] if isinstance(reply, Mapping) else "no JSON object"
            known = type(status) is int and 100 <= status < 600  # noqa: PLR2004 -- HTTP's
            _fault(snapshot, f"status_{status}" if known else "shape", bean, error)
        return
    value = reply.get("value")
    pattern = isinstance(item.request, Read) and "*" in item.request.mbean
    pattern = pattern or (isinstance(value, Mapping) and bool(value) and all(":" in name for name in value))
    if not isinstance(value, Mapping):
        _fault(snapshot, "shape", bean, "the value is no JSON object")
        return
    found = value.items() if pattern else [(item.request.mbean, value)]
    for name, attributes in found:
        try:
            keys = object_names.parse(name)
            row: Row = {here: encodable(keys[there]) for there, here in bean.keys}
        except (ValueError, KeyError):
            _fault(snapshot, "object_name", bean, f"{name[:100]!r}")
            continue
        if not isinstance(attributes, Mapping):
            _fault(snapshot, "shape", bean, "the attributes are no JSON object")
            continue
        for attribute in bean.attributes:
            raw = attributes.get(attribute.remote_name)
            try:
                row[attribute.name] = None if raw is None else _READ[attribute.type](raw)
            except (TypeError, ValueError):
                row[attribute.name] = None
                missing = isinstance(raw, str) and raw.startswith("ERROR")
                if not missing:  # an attribute that this version does not have is no fault
                    _fault(
                        snapshot, "value_of_wrong_type", bean, f"{attribute.remote_name} is {str(raw)[:50]!r}"
                    )
        yield row


def _fault(snapshot: BrokerSnapshot, reason: str, bean: Bean, text: str) -> None:
    snapshot.faults[reason] += 1
    if len(snapshot.notes) < MAX_NOTES:
        snapshot.notes.append(f"{reason}: {bean.name}: {text}")


def _pools(snapshot: BrokerSnapshot) -> dict[str, dict[str, int]]:
    """Return memory by the pools' common names; pools of one common name are added up."""
    found: dict[str, dict[str, int]] = {}
    parts = [(name, snapshot.one("memory").get(name)) for name in ("heap", "non_heap")]
    for row in snapshot.beans.get("pool", []):
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
    """Return a number that Java can have; NaN and the infinities are none. TypeError otherwise."""
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
    return encodable(value)


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise TypeError
    return [_text(item) for item in value[:MAX_NAMED]]


def _usage(value: Any) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise TypeError
    usage = {stat: _number(value[stat]) for stat in schema.USAGE if value.get(stat) is not None}
    return {stat: amount for stat, amount in usage.items() if amount >= 0}  # -1 means that there is none


_READ: Final[dict[Type, Callable[[Any], Any]]] = {
    "count": _number,
    "number": _number,
    "ratio": _ratio,
    "percent": _percent,
    "load": _load,
    "flag": _flag,
    "text": _text,
    "texts": _texts,
    "usage": _usage,
}
