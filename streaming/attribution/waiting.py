"""Where messages wait: late, not lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from collectors.contract.attribution_rows import MOST_HOPS, Hop
from streaming.attribution import losses
from streaming.attribution.candidate import Candidate, HopKind, hop_text
from streaming.attribution.episodes import Episode
from streaming.attribution.path_windows import Window
from streaming.attribution.scene import RECEIVER, SENDER, Scene

_LEAST_SHARE: Final = 0.1


def messages(count: int) -> str:
    return f"{count:,} message{'' if count == 1 else 's'}"


def candidates(scene: Scene) -> list[Candidate]:
    """Return hops for what is missing for longer than usual, and may still come."""
    lost = [replace(one, of="late", lower=0, exact=False) for one in losses.candidates(scene, "lost")]
    return [*waits(scene), *lost]


def waits(scene: Scene) -> Iterator[Candidate]:
    """Yield queues and links on which messages of the path, or of all traffic, wait now."""
    place, network = scene.place, scene.network
    broker = network.brokers.get(place.via or "")
    queue = broker.queues.get(scene.route.queue) if broker else None
    if queue is not None and queue.messages and place.via is not None:
        consumers = "no consumer" if not queue.consumers else f"{queue.out_rate:,.0f}/s out"
        text = f"{messages(queue.messages)}, {consumers}"
        yield Candidate(
            *("queue", place.via, scene.route.queue, "late", "waiting", 0, queue.messages, "counted"),
            evidence=[text],
        )
    for router, link in network.ends((*place.sent_to, place.receive_address), "out"):
        # What waits for the broker is told as the link to it.
        if link.undelivered or (link.zero_credit_seconds and link.unsettled):
            waits_here = link.undelivered + link.unsettled
            credit = f", no credit for {link.zero_credit_seconds:,} s" if link.zero_credit_seconds else ""
            yield Candidate(
                *("end", router, RECEIVER if link.own else place.via or RECEIVER, "late", "waiting"),
                lower=0,
                upper=waits_here,
                how="counted",
                evidence=[f"{waits_here:,} waiting on {router}'s link {losses.way(link, place.via)}{credit}"],
            )
    for one, other in scene.route.links:
        links = network.between(one, other)
        count = sum(link.undelivered + (link.unsettled if link.stuck_ns else 0) for link in links)
        if count:
            yield Candidate(
                *("link", one, other, "late", "waiting", 0, count, "shared"),
                shared=True,
                evidence=[f"{count:,} waiting on {one}'s links to {other}"],
            )


def slow_hops(episode: Episode, excess_ns: int) -> list[Hop]:
    """Return the hops of a slow episode, the longest delay first; none explains more than there is.

    Messages always wait a little everywhere: what is no tenth of the delay is not to blame for it.
    """
    found: list[Hop] = []
    for key, (text, delay_ns) in sorted(episode.delays.items(), key=lambda item: -item[1][1])[:MOST_HOPS]:
        if delay_ns and delay_ns < _LEAST_SHARE * excess_ns:
            continue
        kind, at, to = key.split("\0")
        found.append(_delaying(kind, at, to, min(delay_ns, excess_ns) if delay_ns else excess_ns, text))  # type: ignore[arg-type]
    return found


def sent_late(slowest: Window, sources: list[str], excess_ns: int) -> list[Hop]:
    """Return the hop to the first router, where at least half of the delay was before messages were sent.

    A router gave no credit, or the sender's host was busy.
    """
    delay_ns = min(slowest.sent_late_ns, excess_ns)
    if not sources or not delay_ns or 2 * delay_ns < excess_ns:
        return []
    late_ms = slowest.sent_late_ns / 1e6
    text = f"p{slowest.percentile} {late_ms:,.0f} ms from when they were due until they were sent"
    return [_delaying("end", SENDER, sources[0], delay_ns, text)]


def _delaying(kind: HopKind, at: str, to: str, delay_ns: int, text: str) -> Hop:
    return {
        "hop": hop_text(kind, at, to),
        "kind": kind,
        "at": at,
        "to": to,
        "of": "late",
        "cause": "waiting",
        "lower": 0,
        "upper": 0,
        "said": 0,
        "exact": False,
        "shared": kind == "link",
        "delay_ns": delay_ns,
        "evidence": [text[:512]],
    }
