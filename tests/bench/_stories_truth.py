"""What is true, counted by others than who is measured: ends' own sums, routers' and the broker's counters.

Routers are asked by proton alone, each at its own listener; nothing here is shared with the collectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families
from proton import Message
from proton.utils import BlockingConnection, SyncRequestResponse

from collectors.config.secrets import read_password
from deploy.embedded import http
from deploy.embedded.programs.artemis import Artemis

_SECONDS: Final = 60.0  # a router that has just started, on a busy machine
Row = dict[str, Any]


def ends(url: str) -> dict[str, dict[str, int]]:
    """Return what senders and receivers of each path have counted themselves, by outcome and `received`."""
    found: dict[str, dict[str, int]] = {}
    for family in text_string_to_metric_families(http.get(f"{url}/metrics")):
        for sample in family.samples:
            if sample.name == "inflight_probe_messages_total":
                counts = found.setdefault(sample.labels["path"], {})
                outcome = sample.labels["outcome"]
                counts[outcome] = counts.get(outcome, 0) + int(sample.value)
    return found


def missing(counts: Mapping[str, int]) -> dict[str, int]:
    """Return how many were refused, and how many lost, of what the ends of a path have counted."""
    refused = sum(counts.get(name, 0) for name in ("rejected", "released", "modified"))
    sent = refused + sum(counts.get(name, 0) for name in ("accepted", "presettled", "unsettled"))
    return {"sent": sent, "refused": refused, "lost": sent - refused - counts.get("received", 0)}


def links(url: str, prefix: str) -> list[Row]:
    """Return all links of the router at a URL, as it tells them; its types have that prefix."""
    connection = BlockingConnection(url, timeout=_SECONDS)
    try:
        client = SyncRequestResponse(connection, "$management")
        asked = Message(
            properties={
                "operation": "QUERY",
                "entityType": f"{prefix}router.link",
                "type": "org.amqp.management",
                "name": "self",
            },
            body={"attributeNames": []},
        )
        reply = client.call(asked)
    except Exception as error:
        raise RuntimeError(f"{url} does not tell its links: {error}") from error
    finally:
        connection.close()
    names = reply.body["attributeNames"]
    return [dict(zip(names, values, strict=True)) for values in reply.body["results"]]


def of_links(rows: list[Row], address: str) -> dict[str, int]:
    """Return what a router's links of an address to end points count."""
    found = {"dropped": 0, "released": 0, "rejected": 0}
    for row in rows:
        owning = str(row.get("owningAddr") or "")
        if not owning.endswith(address) or row.get("linkType") != "endpoint":
            continue
        if row.get("linkDir") == "out":
            found["dropped"] += int(row.get("droppedPresettledCount") or 0)
        else:
            found["released"] += int(row.get("releasedCount") or 0)
            found["rejected"] += int(row.get("rejectedCount") or 0)
    return found


def queue(broker: Artemis, name: str) -> dict[str, int]:
    """Return what the broker counts of a queue."""
    mbean = (
        f'org.apache.activemq.artemis:broker="{broker.name}",component=addresses,address="{name}",'
        f'subcomponent=queues,routing-type="anycast",queue="{name}"'
    )
    attributes = {"expired": "MessagesExpired", "added": "MessagesAdded", "waiting": "MessageCount"}
    reply = http.post_json(
        broker.jolokia_url,
        {"type": "read", "mbean": mbean, "attribute": list(attributes.values())},
        user=broker.user,
        password=read_password(broker.password_file),
        origin=broker.origin,
    )
    return {key: int(reply["value"][attribute]) for key, attribute in attributes.items()}
