"""The faults whose hop has to be found: a network each, what is done to it, and what is true then.

Each is data: routers A - B - C in a line (or as it says), the path `told` that is looked at, and `other`,
traffic of the same kind over the same links. What is true is counted by `_stories_truth`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

Json = dict[str, Any]
Sum = Literal["lost", "refused", "late"]


@dataclass(frozen=True)
class Expected:
    """What a row has to say of a path: at one of these hops, one of these causes, so many as was counted.

    Hops are as rows have them, without what stand-ins add to names. `counted` is a counter of
    `_stories_truth`; None where only the ends know.
    """

    hops: frozenset[str]
    causes: frozenset[str]
    of: Sum = "lost"
    counted: str | None = None


@dataclass(frozen=True)
class Fault:
    """One row of the table."""

    says: str
    paths: Mapping[str, Json]
    do: Sequence[Json]
    expected: Sequence[Expected]
    links: Sequence[Json] = (
        {"from": "B", "to": "A"},
        {"from": "C", "to": "B"},
    )
    broker: Json | None = None
    slo: str | None = None  # the latency that `told` may have

    @property
    def lasts_seconds(self) -> float:
        """From the first action's begin to the last one's end."""
        ends = [_seconds(one.get("after", "0s")) + _seconds(one["for"]) for one in self.do]
        return max(ends, default=0.0)

    def topology(self) -> Json:
        """Return the network as a file of it would have it."""
        made: Json = {
            "version": 1,
            "name": "stories",
            "routers": {name: {"workers": 1} for name in "ABC"},
            "links": list(self.links),
            "paths": {name: dict(path) for name, path in self.paths.items()},
        }
        if self.do:
            made["stories"] = {"fault": list(self.do)}
        if self.broker is not None:
            queues = [path["address"] for path in self.paths.values() if "via" in path]
            made["brokers"] = {"store": self.broker}
            made["links"] = [*self.links, {"from": "C", "to": "store", "queues": queues}]
        return made


def _seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def _paths(**more: Any) -> dict[str, Json]:
    """Two paths from A to C that differ in their address alone."""
    told = {"from": "A", "to": "C", "rate": "100/s", **more}
    return {name: {**told, "address": f"inflight/{name}"} for name in ("told", "other")}


def _queues(told: Json) -> dict[str, Json]:
    """Two queues' paths; that of `told` has what is given beside."""
    other = {"from": "A", "to": "C", "rate": "100/s", "via": "store"}
    return {
        "told": {**other, **told, "address": "inflight.told"},
        "other": {**other, "address": "inflight.other"},
    }


def _at(*hops: str) -> frozenset[str]:
    return frozenset(hops)


_BEHIND_STORE: Final = "store--clients"
_LATE: Final = {"do": "delay", "what": _BEHIND_STORE, "direction": "store>clients"}
_SCAN: Final = {"settings": {"message-expiry-scan-period": 500}}
_FLOOD: Final = {"do": "delay", "what": "C--clients", "direction": "C>clients", "ms": 250, "for": "12s"}

FAULTS: Final[dict[str, Fault]] = {
    "dropped": Fault(
        "presettled, dropped at the last hop",
        {**_paths(presettled=True), "told": {**_paths(presettled=True, rate="200/s", credit=20)["told"]}},
        [_FLOOD],
        [Expected(_at("C → receiver"), _at("dropped"), counted="dropped")],
    ),
    "released": Fault(
        "released for want of a receiver",
        _paths(),
        [{"do": "cut", "what": "C--clients", "for": "8s"}],
        [Expected(_at("A", "C", "C → receiver"), _at("released"), "refused", "released")],
    ),
    "full": Fault(
        "rejected by a full address",
        _queues({"to": "store", "credit": 10}),
        [{**_LATE, "ms": 1500, "for": "12s"}],
        [Expected(_at("store: inflight.told"), _at("rejected"), "refused", "rejected")],
        broker={"address_settings": {"address-full-policy": "FAIL", "max-size-messages": 30}},
    ),
    "expired": Fault(
        "expired by TTL in the queue",
        _queues({"to": "store", "credit": 20, "ttl": "2s"}),
        [{**_LATE, "ms": 500, "for": "12s"}],
        [Expected(_at("store: inflight.told"), _at("expired"), counted="expired")],
        broker=_SCAN,
    ),
    "killed": Fault(
        "middle router killed",
        _paths(presettled=True),
        [{"do": "kill", "what": "B", "for": "8s"}],
        [Expected(_at("B", "A → B"), _at("gone", "dropped"))],
    ),
    "way-round": Fault(
        "link cut, a dearer way round",
        _paths(presettled=True, rate="500/s"),
        [{"do": "cut", "what": "A--B", "for": "12s"}],
        [Expected(_at("A → B"), _at("gone", "no_route"))],
        links=(
            {"from": "B", "to": "A"},
            {"from": "C", "to": "B"},
            {"from": "C", "to": "A", "cost": 10},
        ),
    ),
    "receiver-killed": Fault(
        "a receiver's router killed",
        _paths(),
        [{"do": "kill", "what": "C", "for": "8s"}],
        [Expected(_at("C", "B → C"), _at("gone", "released"), "refused", "released")],
    ),
    "no-consumer": Fault(
        "queue without consumer",
        {"told": {**_queues({})["told"], "from": "store", "ttl": "2s"}, "other": _queues({})["other"]},
        [{"do": "cut", "what": "C--store", "for": "10s"}],
        [Expected(_at("store: inflight.told"), _at("expired"), counted="expired")],
        broker=_SCAN,
    ),
    "stalled": Fault(
        "stalled link",
        _paths(presettled=True),
        [{"do": "stall", "what": "B--C", "for": "10s"}],
        [Expected(_at("B → C"), _at("dropped", "gone", "no_route"))],
    ),
    "slow": Fault(
        "slow consumer: delay, not loss",
        _queues({"to": "store", "credit": 20}),
        [{**_LATE, "ms": 250, "for": "10s"}],
        [Expected(_at("store: inflight.told"), _at("slow", "waiting"), "late")],
        broker={},
        slo="50ms",
    ),
    "two": Fault(
        "two at once: dropped at the last hop, middle router killed",
        {**_paths(presettled=True), "told": {**_paths(presettled=True, rate="200/s", credit=20)["told"]}},
        [_FLOOD, {"do": "kill", "what": "B", "after": "14s", "for": "6s"}],
        [
            Expected(_at("C → receiver"), _at("dropped"), counted="dropped"),
            Expected(_at("B", "A → B"), _at("gone", "dropped")),
        ],
    ),
    "none": Fault("no fault", {"told": _queues({})["told"], "other": _paths()["other"]}, [], [], broker={}),
}
