"""Checks that each broker can be asked, has the right time, and leaves the probes' queues alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from collectors.broker import object_names, poll
from collectors.broker.client import JolokiaClient, Read
from collectors.broker.products import UNKNOWN
from collectors.broker.replies import read_replies
from collectors.broker.schema import Product
from collectors.config import paths
from collectors.config.model import Broker, Config
from collectors.polling.errors import PollError
from collectors.process import wall_clock
from deploy.live_check import fixes
from deploy.live_check.result import Checked, failed, passed

_SECONDS: Final = 10.0
_CLOCK_SECONDS: Final = 2.0


def check_brokers(config: Config) -> Iterator[Checked]:
    """Check Jolokia's login and rights, then what the paths through the broker need."""
    for name, broker in config.brokers.items():
        yield from _check(config, name, broker)


def _check(config: Config, name: str, broker: Broker) -> Iterator[Checked]:
    what = f"broker {name} at {broker.jolokia}"
    client = JolokiaClient(broker)
    until = time.monotonic() + _SECONDS
    through = [path for path in paths.resolve(config).values() if path.via == name]
    addresses = sorted({colour.receive_address for path in through for colour in path.colours})
    try:
        replies = client.ask(poll.product_searches(), until)
        product = poll.detect_product(replies)
        if product is None:
            yield failed(what, UNKNOWN, fixes.of_broker("bad_reply", name, ""))
            return
        asked = poll.requests(product, broker.queues, poll.QueueSelection())
        snapshot = read_replies(
            asked, client.ask([i.request for i in asked], until), product, broker.queues, (0, 0)
        )
        queues = [_queue(product, address) for address in addresses] if product.moves_to else []
        settings = client.ask(queues, until) if queues else []
    except PollError as error:
        parts = urlsplit(broker.jolokia)
        fix = fixes.of_broker(error.failure, name, f"{parts.scheme}://{parts.hostname}")
        yield failed(what, str(error), fix)
        return
    finally:
        client.close()
    version = snapshot.one("broker").get("version")
    yield passed(what, f"{product.title} {version}, {len(snapshot.beans.get('queue', []))} queues wanted")
    yield _clock(what, replies[0])
    for address, reply in zip(addresses, settings, strict=False):
        yield from _left_alone(product, f"queue {address} of broker {name}", address, reply)


def _queue(product: Product, address: str) -> Read:
    quoted = object_names.quote(address)
    return Read(product.queue.pattern.format(queue=quoted), product.moves_to)


def _clock(what: str, reply: dict[str, Any]) -> Checked:
    there = reply.get("timestamp")
    if type(there) is not int or not 0 <= there < 1 << 62:
        return passed(f"{what}: clock", "not told")
    off = there - wall_clock.now_ns() / 1e9
    # It is told in whole seconds.
    if abs(off) > _CLOCK_SECONDS:
        return failed(f"{what}: clock", f"{off:+.0f} s against this machine's", fixes.CLOCK)
    return passed(f"{what}: clock", "within 2 s of this machine's")


def _left_alone(product: Product, what: str, address: str, reply: dict[str, Any]) -> Iterator[Checked]:
    """Check that expired messages are not moved elsewhere: they would be counted as lost."""
    value = reply.get("value")
    for attributes in value.values() if isinstance(value, dict) else ():
        if not isinstance(attributes, dict):
            continue
        taken = {
            name: attributes.get(name)
            for name in product.moves_to
            if attributes.get(name) and not str(attributes.get(name)).startswith("ERROR")
        }
        if taken:
            text = ", ".join(f"{name} is {value}" for name, value in taken.items())
            match = "inflight.#" if address.startswith("inflight.") else address
            yield failed(what, text, fixes.address_setting(match))
        else:
            yield passed(what, "expired messages go nowhere else")
