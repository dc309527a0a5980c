"""What a broker said of its links to other brokers, as one row for each link; it knows no sockets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from collectors.broker.snapshot import BrokerSnapshot, Row
from collectors.contract.untrusted_text import encodable

UP: Final = "up"
UNKNOWN: Final = "unknown"
# Of a URI no more is told than host and port: before and behind them may stand passwords.
_HOST: Final = re.compile(r"//(?:[^#,()]*@)?([^/?#,();@]+)")


def rows(snapshot: BrokerSnapshot) -> list[Row]:
    """Return a row for each link, with what is not known as None.

    `state`, in words, is what follows from all that is said, and `up` from that: a link that is started and
    connected is not up where nothing takes messages from its queue, as its peer hangs.
    """
    queues = {row["queue"]: row for name in ("queue", "link_queue") for row in snapshot.beans.get(name, [])}
    return [*_told(snapshot, queues), *_left_over(snapshot, queues)]


def feeding(snapshot: BrokerSnapshot) -> list[str]:
    """Return the queues of links that have to be asked for by name in the next poll."""
    known = {row["queue"] for row in snapshot.beans.get("queue", [])}
    return sorted({row["queue"] for row in snapshot.beans.get("bridge", []) if row["queue"]} - known)


def _told(snapshot: BrokerSnapshot, queues: dict[str, Row]) -> Iterator[Row]:
    links = snapshot.product.links
    attached = snapshot.beans.get(links.attached.name, []) if links.attached else None
    there: dict[str, list[str]] = {}
    for row in attached or ():
        there.setdefault(row["link"], []).append(row["peer"] or "")
    for bean in links.kinds:
        for said in snapshot.beans.get(bean.name, []):
            own = links.mirror + said["link"]
            mirrors = bool(links.mirror) and bean.name == "amqp" and own in queues
            connected = said.get("connected") if attached is None else said["link"] in there
            to = ", ".join(said.get("to") or ()) or ", ".join(
                _HOST.findall((said.get("uri") or "").split("?")[0])
            )
            yield _link(
                {**said, "connected": connected, "peers": there.get(said["link"])},
                "mirror" if mirrors else bean.name,
                encodable(to),
                queues.pop(own) if mirrors else queues.get(said.get("queue") or ""),
            )


def _left_over(snapshot: BrokerSnapshot, queues: dict[str, Row]) -> Iterator[Row]:
    """Yield mirrors of which there is the queue alone: what is in it waits for a connection of old."""
    prefix = snapshot.product.links.mirror
    for name, queue in queues.items():
        if prefix and name.startswith(prefix):
            yield _link({"link": name.removeprefix(prefix)}, "mirror", "", queue)


def _link(said: Row, kind: str, to: str, queue: Row | None) -> Row:
    """Return a link's row; `queue` is what is said of the one that feeds it."""
    queue = queue or {}
    state = _state(said, queue.get("consumers"))
    return {
        "kind": kind,
        "link": said["link"],
        "to": to,
        "peers": said.get("peers"),  # who they turned out to be; unlike `to` it is not in the configuration
        "queue": queue.get("queue") or said.get("queue"),
        "state": state,
        "up": None if state == UNKNOWN else state == UP,
        "started": said.get("started"),
        "connected": said.get("connected"),
        "messages": queue.get("messages"),
        "delivering": queue.get("delivering"),
        "sent": said.get("sent"),
        # A mirror's queue is the link's alone; the one of a bridge may have other receivers, too.
        "acknowledged": (queue if kind == "mirror" else said).get("acknowledged"),
    }


def _state(said: Row, consumers: int | None) -> str:
    if said.get("started") is False:
        return "stopped"
    if said.get("connected") is False:
        return "down"
    if consumers == 0:
        return "hangs"
    return UNKNOWN if said.get("connected") is None and consumers is None else UP
