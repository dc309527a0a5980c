"""Which requests make a poll of a broker; it knows no sockets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from collectors.broker import object_names, schema
from collectors.broker.client import Read, Request, Search
from collectors.broker.products import PRODUCTS
from collectors.broker.schema import Bean, Product
from collectors.config.model import Queues
from collectors.contract.untrusted_text import matches


@dataclass(frozen=True, slots=True)
class BeanRequest:
    """A request of a poll and the kind of MBean it is about."""

    bean: Bean
    request: Request


@dataclass(slots=True)
class QueueSelection:
    """The queues and addresses to ask for by name where there are more than the limit; None: by pattern."""

    beans: dict[str, tuple[str, ...]] | None = None
    omitted: dict[str, int] = field(default_factory=dict)


def product_searches() -> list[Search]:
    """Return a search for each product's broker, in the order of PRODUCTS."""
    return [Search(product.broker.pattern) for product in PRODUCTS]


def detect_product(replies: Sequence[Any]) -> Product | None:
    """Return the product whose broker was found by these searches."""
    for product, reply in zip(PRODUCTS, replies, strict=True):
        if isinstance(reply, Mapping) and reply.get("status") == HTTPStatus.OK and reply.get("value"):
            return product
    return None


def name_searches(product: Product) -> list[Search]:
    """Return searches for all queues and addresses, to see if they are too many to ask for by pattern."""
    return [Search(bean.pattern.format(queue="*")) for bean in product.destinations]


def select_queues(
    product: Product, queues: Queues, replies: Sequence[Any], of_paths: Collection[str] = ()
) -> QueueSelection:
    """Select by name as soon as more match than the limit: the first in order, the same ones at each poll.

    Those `of_paths`, queues and addresses by their names, are wanted whatever matches.
    """
    beans: dict[str, tuple[str, ...]] = {}
    omitted: dict[str, int] = {}
    too_many = False
    for bean, reply in zip(product.destinations, replies, strict=True):
        value = reply.get("value") if isinstance(reply, Mapping) else None
        names = [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
        named = [(queue, name) for name in names if (queue := _named(bean, name))]
        of_users = [(queue, name) for queue, name in named if not queue.startswith(product.internal)]
        always = sorted(name for queue, name in named if queue in of_paths)
        wanted = sorted(name for queue, name in of_users if matches(queue, queues.include))
        beans[bean.name] = tuple(dict.fromkeys((*always, *wanted)))[: max(queues.limit, len(always))]
        omitted[bean.name] = max(0, len(of_users) - len(beans[bean.name]))
        too_many = too_many or len(wanted) > queues.limit
    return QueueSelection(beans if too_many else None, omitted)


def _named(bean: Bean, name: str) -> str:
    """Return the queue or address that an object name names; nothing if it is none."""
    try:
        return object_names.parse(name).get(bean.keys[-1][0], "")
    except ValueError:
        return ""


def requests(
    product: Product,
    queues: Queues,
    selection: QueueSelection,
    feeding: Iterable[str] = (),
    of_paths: Collection[str] = (),
) -> list[BeanRequest]:
    """Return all of a poll's requests: broker, JVM, links, and the queues and addresses that are wanted.

    `feeding` are queues that are asked for as they feed links, beside those of mirrors; `of_paths` those that
    are asked for whatever is configured.
    """
    found = [
        BeanRequest(bean, Read(bean.pattern, tuple(bean.wanted))) for bean in (product.broker, *schema.JVM)
    ]
    for bean in product.destinations:
        if selection.beans is None:
            patterns: Sequence[str] = sorted({*_server_patterns(bean, queues, of_paths)})
        else:
            patterns = selection.beans[bean.name]
        found += [BeanRequest(bean, Read(pattern, tuple(bean.wanted))) for pattern in patterns]
    links = product.links
    for bean in links.beans:
        names = [links.mirror + "*"] if bean is links.queues else [""]
        patterns = [bean.pattern.format(queue=object_names.quote_pattern(name)) for name in names]
        if bean is links.queues:
            patterns += [bean.pattern.format(queue=object_names.quote(name)) for name in feeding]
        found += [BeanRequest(bean, Read(pattern, tuple(bean.wanted))) for pattern in patterns]
    return found


def _server_patterns(bean: Bean, queues: Queues, of_paths: Collection[str]) -> Iterator[str]:
    quoted = [object_names.quote_pattern(pattern) for pattern in queues.include]
    if not bean.quotes_names or None in quoted:
        quoted = ["*"]  # all are asked for; what comes is filtered
    if bean.quotes_names:
        quoted += [object_names.quote(name) for name in of_paths if not matches(name, queues.include)]
    yield from (bean.pattern.format(queue="*" if text == '"*"' else text) for text in quoted)
