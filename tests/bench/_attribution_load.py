"""What 50 routers and 200 paths tell in a while: polls as collectors write them, rows as the job does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import made_rows

from collectors.contract import window_rows
from collectors.contract.path_telemetry import PATH_ADDRESS, PATH_LINK
from collectors.contract.records import SECOND_NS
from collectors.contract.telemetry import Telemetry, split
from collectors.contract.topics import LIVE, ROUTER, WINDOWS, Topic
from streaming.attribution.places import Place

ROUTERS, INTERVAL = 50, 10
MESH = "bench"
_WINDOW = 5
_NEIGHBOURS = 4
_RATE = 1_000
_SAMPLES = 400


def path_name(number: int) -> str:
    return f"path-{number:04}"


def router_name(number: int) -> str:
    return f"R{number % ROUTERS:02}"


def places(paths: int) -> dict[str, Place]:
    return {path_name(n): Place(MESH, (MESH,), _address(n), _address(n)) for n in range(paths)}


def polls(paths: int, second: int, start: int) -> Iterator[tuple[Topic, str, bytes]]:
    """Yield what the routers tell that are polled in this second: all know all addresses and all routers."""
    for router in range(ROUTERS):
        if router % INTERVAL != second % INTERVAL:
            continue
        count = _RATE * second
        rows: dict[str, list[dict[str, Any]]] = {
            PATH_ADDRESS: [_address_row(n, router, count) for n in range(paths)],
            PATH_LINK: [_end_row(n, router, count) for n in range(paths) if router in {_sends(n), _takes(n)}]
            + [_link_row(router, n, count * paths) for n in range(2 * _NEIGHBOURS)],
            "node": [
                {"id": router_name(n), "next_hop": router_name(router + 1), "cost": 1, "link_state": []}
                for n in range(ROUTERS)
            ],
            # What histories are not made of.
            "link": [
                {"peer": router_name(n), "type": "inter-router", "deliveries_added": 5_000} for n in range(20)
            ],
            "allocator": [{"type": f"qd_{n}_t", "held_by_threads": n} for n in range(50)],
        }
        for entity, told in rows.items():
            yield from _records(router_name(router), entity, told, second, start)


def window_record(number: int, start: int, lost: int = 0) -> tuple[Topic, str, bytes]:
    row: Any = _typical_window() | {
        "path": path_name(number),
        "window_start_ns": start * SECOND_NS,
        "mesh": MESH,
        "address": _address(number),
        "routes": {_route(number): _SAMPLES},
        "lost": {"accepted": lost, "presettled": 0, "unsettled": 0},
        "classes": {"received": _SAMPLES - lost, "refused": 0, "lost": lost, "unobserved": 0},
    }
    return WINDOWS, path_name(number), window_rows.encode(row)


@cache
def _typical_window() -> dict[str, Any]:
    # Histograms as large as those of a window at that rate.
    return dict(made_rows.window(values_ns=[2_000_000 + 10_000 * n for n in range(_SAMPLES)]))


def live_record(number: int, second: int, start: int) -> tuple[Topic, str, bytes]:
    at_ns = (start + second) * SECOND_NS
    about = {"run": "00" * 8, "link": "attached", "frontier_ns": at_ns}
    row = made_rows.live(
        path_name(number),
        at_ns=at_ns,
        window_start_ns=at_ns // (_WINDOW * SECOND_NS) * _WINDOW * SECOND_NS,
        oldest_pending_ns=None,
        mesh=MESH,
        address=_address(number),
        ends=[
            {"role": "sender", "name": "a", "peer": router_name(_sends(number)), **about},
            {"role": "receiver", "name": "b", "peer": router_name(_takes(number)), **about},
        ],
    )
    return LIVE, path_name(number), window_rows.encode(row)


def _records(
    router: str, entity: str, rows: list[dict[str, Any]], second: int, start: int
) -> Iterator[tuple[Topic, str, bytes]]:
    asked_ns = (start + second) * SECOND_NS
    whole = Telemetry(
        site="bench",
        mesh=MESH,
        target=router,
        entity=entity,
        at_ns=asked_ns,
        interval_ns=INTERVAL * SECOND_NS,
        poll=second // INTERVAL + 1,
        rows=rows,
        run="00" * 8,
        asked_ns=asked_ns,
        answered_ns=asked_ns + 20_000_000,
        instance=1,
    )
    for record in split(whole):
        yield ROUTER, record.key, record.encode()


def _address(number: int) -> str:
    return f"closest/{path_name(number)}"


def _sends(number: int) -> int:
    return number % ROUTERS


def _takes(number: int) -> int:
    return (number + 3) % ROUTERS


def _route(number: int) -> str:
    return ">".join(router_name(number + step) for step in range(4))


def _address_row(number: int, router: int, count: int) -> dict[str, Any]:
    on_the_way = (router - number) % ROUTERS < 3
    return {
        "key": f"M0{_address(number)}",
        "address": _address(number),
        "phase": "",
        "distribution": "closest",
        "ingress": count if router == _sends(number) else 0,
        "egress": count if router == _takes(number) else 0,
        "transit": count if on_the_way else 0,
        "to_container": 0,
        "from_container": 0,
        "local": int(router == _takes(number)),
        "remote": int(router != _takes(number)),
        "hosts": [] if router == _takes(number) else [router_name(_takes(number))],
        "state": "",
    }


def _end_row(number: int, router: int, count: int) -> dict[str, Any]:
    direction = "in" if router == _sends(number) else "out"
    kind = {"kind": "end", "own": True, "peer": "probe", "address": _address(number), "direction": direction}
    return _row(f"{number}{direction}", count, kind)


def _link_row(router: int, number: int, count: int) -> dict[str, Any]:
    direction = "in" if number % 2 else "out"
    peer = router_name(router + 1 + number // 2)
    return _row(
        f"r{number}",
        count,
        {"kind": "router", "own": False, "peer": peer, "address": "", "direction": direction},
    )


def _row(identity: str, count: int, about: dict[str, Any]) -> dict[str, Any]:
    return {
        "identity": identity,
        "name": f"qdlink.{identity}",
        **about,
        "phase": "",
        "deliveries": count,
        "presettled": 0,
        "dropped_presettled": 0,
        "accepted": count,
        "rejected": 0,
        "released": 0,
        "modified": 0,
        "undelivered": 3,
        "unsettled": 5,
        "credit": 245,
        "zero_credit_seconds": 0,
        "state": "",
    }
