"""Stories for the rules: series as promtool writes them, at one sample in 15 s, and what fires at a minute.

`a+bxn`: from a, n more samples, each b higher; `_xn`: n samples missing; `stale`: the series ended.
"""

from __future__ import annotations

from typing import Final, NamedTuple

STEP: Final = "15s"


class Case(NamedTuple):
    """`fires`: for each alert expected, its labels beside alertname and severity."""

    alert: str
    story: str
    series: dict[str, str]
    minute: float
    fires: tuple[dict[str, str], ...] = ()


P: Final = 'mesh="m",path="p"'
ON_P: Final = {"mesh": "m", "path": "p"}
_UP: Final = f'inflight_probe_end_up{{{P},end="sender/a",site="s"}}'
_RECEIVER_UP: Final = f'inflight_probe_end_up{{{P},end="receiver/b",site="s"}}'
_RECEIVED: Final = f'inflight_probe_messages_total{{{P},end="receiver/b",outcome="received"}}'
_OUTAGE: Final = f"inflight_path_outage_seconds{{{P}}}"
_MAINTENANCE: Final = f"inflight_path_maintenance{{{P}}}"
_LOST: Final = f'inflight_path_messages_total{{{P},class="lost"}}'
_FOUND: Final = f'inflight_path_reclassified_messages_total{{{P},from="lost",to="received"}}'
_MISSED: Final = f'inflight_path_reclassified_messages_total{{{P},from="unobserved",to="lost"}}'
_NO_MOVES: Final = {_FOUND: "0x200", _MISSED: "0x200"}
_INFO: Final = {f'inflight_path_info{{{P},settlement="acknowledged"}}': "1x200"}
_WATCHED: Final = {_UP: "1x200", _RECEIVER_UP: "1x200"}

PATHS: Final = (
    Case(
        "PathSilent",
        "fires: an outage of more than 30 s, with all ends up",
        {**_WATCHED, _OUTAGE: "0x4 0+15x10"},
        2,
        (ON_P,),
    ),
    Case("PathSilent", "does not: the outage is short", {**_WATCHED, _OUTAGE: "0x4 0 15 30 0x10"}, 2),
    Case(
        "PathSilent",
        "does not: an end is down but messages come by another",
        {_UP: "1x20", _RECEIVER_UP: "0x20", _RECEIVED: "0+150x20", _OUTAGE: "0+15x20"},
        4,
    ),
    Case(
        "PathSilent",
        "fires: the sender is held up for a minute, and nothing is received",
        {_UP: "1x8 0x20", _RECEIVER_UP: "1x30", _RECEIVED: "0+150x8 1200x20", _OUTAGE: "0x30"},
        5,
        (ON_P,),
    ),
    Case(
        "PathSilent",
        "does not: the sender is held up for half a minute",
        {_UP: "1x8 0x1 1x20", _RECEIVER_UP: "1x30", _RECEIVED: "0+150x8 1200x2 1200+150x20", _OUTAGE: "0x30"},
        2.75,
    ),
    Case(
        "PathSilent",
        "does not: it is slow on purpose, and nothing was due in the minute",
        {**_WATCHED, _RECEIVED: "5x30", _OUTAGE: "0x30"},
        5,
    ),
    Case("PathSilent", "does not: maintenance", {**_WATCHED, _OUTAGE: "0+15x20", _MAINTENANCE: "1x20"}, 3),
    Case(
        "PathSilent",
        "data gone: the exporter's and the probes' series ended",
        {_UP: "1x4 stale", _RECEIVER_UP: "1x4 stale", _RECEIVED: "0+150x4 stale", _OUTAGE: "0x2 15x2 stale"},
        4,
    ),
    Case(
        "PathSilent",
        "exporter restarted: a hole, and no outage after it",
        {**_WATCHED, _OUTAGE: "0x4 _x8 0x20"},
        3.5,
    ),
    Case(
        "PathSilent",
        "ten minutes of windows in one scrape: the outage is told when it comes, and not later",
        {**_WATCHED, _RECEIVED: "0+150x80", _OUTAGE: "0x44 0x20"},
        12,
    ),
    Case(
        "AcceptedMessagesLost", "fires: one message", {**_INFO, **_NO_MOVES, _LOST: "0x8 1x100"}, 3, (ON_P,)
    ),
    Case(
        "AcceptedMessagesLost",
        "fires: and a hop is to blame",
        {
            **_INFO,
            **_NO_MOVES,
            _LOST: "0x8 214x100",
            f'inflight_path_blamed_hop{{{P},hop="C → receiver",cause="dropped"}}': "_x8 211x100",
        },
        3,
        (ON_P,),
    ),
    Case(
        "AcceptedMessagesLost",
        "does not: it was lost long ago",
        {**_INFO, **_NO_MOVES, _LOST: "0x8 1x100"},
        14,
    ),
    Case(
        "AcceptedMessagesLost",
        "does not: all of them came after all",
        {**_INFO, _MISSED: "0x200", _FOUND: "0x9 5x100", _LOST: "0x8 5x100"},
        4,
    ),
    Case(
        "AcceptedMessagesLost",
        "fires: a revision found that nobody has them",
        {**_INFO, _FOUND: "0x200", _MISSED: "0x9 5x100", _LOST: "0x100"},
        4,
        (ON_P,),
    ),
    Case(
        "AcceptedMessagesLost",
        "does not: presettled messages may be lost",
        {f'inflight_path_info{{{P},settlement="presettled"}}': "1x200", **_NO_MOVES, _LOST: "0x8 9x100"},
        3,
    ),
    Case(
        "AcceptedMessagesLost",
        "does not: maintenance, and just after it",
        {**_INFO, **_NO_MOVES, _LOST: "0x8 9x100", _MAINTENANCE: "1x16 0x100"},
        6,
    ),
    Case(
        "AcceptedMessagesLost",
        "data gone: the series ended",
        {
            f'inflight_path_info{{{P},settlement="acknowledged"}}': "1x12 stale",
            _LOST: "0x8 1x3 stale",
            _FOUND: "0x11 stale",
            _MISSED: "0x11 stale",
        },
        5,
    ),
    Case(
        "AcceptedMessagesLost",
        "exporter restarted: with its counters, and without",
        {**_INFO, **_NO_MOVES, _LOST: "7x8 _x8 7x8 0x100"},
        7,
    ),
    Case(
        "AcceptedMessagesLost",
        "ten minutes of windows in one scrape: each lost message counts",
        {**_INFO, **_NO_MOVES, _LOST: "0x8 0x40 25x100"},
        12.5,
        (ON_P,),
    ),
)


def _slo(slo: str, ratio: str, total: str, good: str, *, bound: bool = False) -> dict[str, str]:
    labels = f'{P},slo="{slo}"'
    series = {
        f"inflight_path_slo_messages_total{{{labels}}}": total,
        f"inflight_path_slo_good_messages_total{{{labels}}}": good,
        f"inflight_path_slo_objective_ratio{{{labels}}}": f"{ratio}x2000",
    }
    return {**series, f"inflight_path_slo_bound_seconds{{{labels}}}": "0.05x2000"} if bound else series


def _burns(alert: str, slo: str, *, bound: bool) -> tuple[Case, ...]:
    fast, slow = {**ON_P, "slo": slo, "pace": "fast"}, {**ON_P, "slo": slo, "pace": "slow"}
    return (
        Case(
            alert,
            "fires: 2 % bad of an objective of 99.9 %, both paces",
            _slo(slo, "0.999", "0+150x200", "0+147x200", bound=bound),
            30,
            (fast, slow),
        ),
        Case(
            alert,
            "fires: 1 % bad burns slowly",
            _slo(slo, "0.999", "0+150x200", "0+148.5x200", bound=bound),
            30,
            (slow,),
        ),
        Case(
            alert,
            "does not: 0.1 % bad is what lasts 30 days",
            _slo(slo, "0.999", "0+1000x200", "0+999x200", bound=bound),
            30,
        ),
        Case(
            alert,
            "does not: too few messages to say",
            _slo(slo, "0.999", "0+0.25x200", "0+0.2x200", bound=bound),
            30,
        ),
        *(
            Case(
                alert,
                "does not: the first hundred were bad, and nothing else is known yet",
                _slo(slo, "0.99", "0+150x200", "0 120 270+150x200", bound=bound),
                minute,
            )
            for minute in (0.25, 0.5, 1, 1.25, 5)
        ),
        Case(
            alert,
            "does not: over for ten minutes, the fast one; the slow one lasts half an hour",
            _slo(slo, "0.999", "0+150x200", "0+147x100 14850+150x100", bound=bound),
            36,
            (slow,),
        ),
        Case(
            alert,
            "data gone: the fast one ends, the slow one lasts half an hour",
            _slo(slo, "0.999", "0+150x60 stale", "0+147x60 stale", bound=bound),
            25,
            (slow,),
        ),
        Case(
            alert,
            "exporter restarted without its counters: a reset is not bad",
            _slo(slo, "0.999", "0+150x60 0+150x100", "0+150x60 0+150x100", bound=bound),
            27,
        ),
        Case(
            alert,
            "ten minutes of windows in one scrape: good ones are not bad",
            _slo(slo, "0.999", "0+150x60 9000x40 15150+150x60", "0+150x60 9000x40 15150+150x60", bound=bound),
            27,
        ),
        Case(
            alert,
            "ten minutes of windows in one scrape: bad ones are",
            _slo(slo, "0.999", "0+150x60 9000x40 15150+150x60", "0+150x60 9000x40 12150+150x60", bound=bound),
            27,
            (fast, slow),
        ),
    )


BUDGETS: Final = (
    *_burns("DeliveryBudgetBurn", "delivery", bound=False),
    *_burns("LatencyBudgetBurn", "latency", bound=True),
)

_ROUTER: Final = 'mesh="m",router="r"'
ON_R: Final = {"mesh": "m", "router": "r"}
_LINK: Final = f'{_ROUTER},peer="q",address="",direction="out",type="inter-router"'
ON_L: Final = {**ON_R, "peer": "q", "direction": "out", "type": "inter-router"}
_CONTROL: Final = f'{_ROUTER},peer="q",address="",direction="out",type="router-control"'
_WAITING: Final = f"inflight_router_link_undelivered_messages{{{_LINK}}}"
_WENT: Final = f"inflight_router_link_deliveries_total{{{_LINK}}}"
_NO_CREDIT: Final = f"inflight_router_link_zero_credit_seconds{{{_LINK}}}"
_UP_R: Final = f"inflight_router_up{{{_ROUTER}}}"
_CUT_C: Final = 'inflight_router_cut_off{mesh="m",router="c",from="a"}'
_CUT_D: Final = 'inflight_router_cut_off{mesh="m",router="d",from="a"}'
_DIFFERENT: Final = 'inflight_mesh_topology_differences{mesh="m",kind="missing_link"}'
_DROPPED: Final = f'inflight_router_outcomes_total{{{_ROUTER},outcome="dropped_presettled"}}'
_PRESETTLED: Final = f'inflight_router_outcomes_total{{{_ROUTER},outcome="presettled"}}'

ROUTERS: Final = (
    Case("RouterDown", "fires: down for 30 s", {_UP_R: "1x4 0x10"}, 2, ({**ON_R, "peer": "r"},)),
    Case("RouterDown", "does not: one poll failed", {_UP_R: "1x4 0 1x10"}, 2),
    Case("RouterDown", "data gone: the collector's series ended", {_UP_R: "1x4 0 stale"}, 3),
    Case("RouterDown", "collector restarted: a hole", {_UP_R: "1x4 _x8 1x8"}, 4),
    Case("RouterDown", "a late scrape: what is up now is up", {_UP_R: "1x4 _x40 1x8"}, 12),
    Case(
        "MeshSplit",
        "fires: one for both, and none for a router that is down",
        {_CUT_C: "_x4 1x10", _CUT_D: "_x4 1x10"},
        2,
        ({"mesh": "m", "from": "a"},),
    ),
    Case("RouterDown", "does not: it is only cut off", {_UP_R: "1x20", _CUT_C: "_x4 1x16"}, 3),
    Case("MeshSplit", "does not: one poll had no way", {_CUT_C: "_x4 1 stale"}, 2),
    Case("MeshSplit", "data gone: the collector's series ended", {_CUT_C: "1x4 stale"}, 3),
    Case("MeshSplit", "collector restarted: the half minute begins anew", {_CUT_C: "1x4 _x24 1"}, 7),
    Case("MeshSplit", "a late scrape: what is whole now is whole", {_CUT_C: "1 stale _x40"}, 12),
    Case(
        "TopologyDiffers",
        "fires: for two minutes",
        {_DIFFERENT: "0x4 1x20"},
        4,
        ({"mesh": "m", "kind": "missing_link"},),
    ),
    Case("TopologyDiffers", "does not: for a minute", {_DIFFERENT: "0x4 1x4 0x10"}, 3),
    Case("TopologyDiffers", "data gone", {_DIFFERENT: "1x4 stale"}, 4),
    Case(
        "TopologyDiffers",
        "collector restarted: the two minutes begin anew",
        {_DIFFERENT: "1x6 _x24 1x8"},
        8.5,
    ),
    Case("TopologyDiffers", "a late scrape", {_DIFFERENT: "0x4 _x40 0x10"}, 12),
    Case(
        "LinkStalled", "fires: messages wait and none goes", {_WAITING: "5x20", _WENT: "100x20"}, 3, (ON_L,)
    ),
    Case("LinkStalled", "does not: messages wait and go", {_WAITING: "5x20", _WENT: "100+20x20"}, 3),
    Case("LinkStalled", "does not: none waits", {_WAITING: "5x6 0 5x10", _WENT: "100x20"}, 2),
    Case(
        "LinkStalled",
        "does not: links of the routers' own business",
        {
            f"inflight_router_link_undelivered_messages{{{_CONTROL}}}": "5x20",
            f"inflight_router_link_deliveries_total{{{_CONTROL}}}": "100x20",
        },
        3,
    ),
    Case("LinkStalled", "data gone", {_WAITING: "5x4 stale", _WENT: "100x4 stale"}, 3),
    Case(
        "LinkStalled",
        "collector restarted: counters begin anew, messages went",
        {_WAITING: "5x20", _WENT: "900x6 0+10x20"},
        2,
    ),
    Case(
        "LinkStalled",
        "a late scrape: what went before it went",
        {_WAITING: "5x4 _x40 5x2", _WENT: "100x4 _x40 9000+50x2"},
        11.5,
    ),
    Case(
        "CreditStarved",
        "fires: for half a minute, and messages wait",
        {_NO_CREDIT: "0+15x20", _WAITING: "3x20"},
        2,
        (ON_L,),
    ),
    Case("CreditStarved", "does not: nothing waits", {_NO_CREDIT: "0+15x20", _WAITING: "0x20"}, 2),
    Case("CreditStarved", "does not: credit came", {_NO_CREDIT: "0 15 0x20", _WAITING: "3x20"}, 2),
    Case("CreditStarved", "data gone", {_NO_CREDIT: "0+15x4 stale", _WAITING: "3x4 stale"}, 2),
    Case("CreditStarved", "collector restarted", {_NO_CREDIT: "0x4 _x8 0x8", _WAITING: "3x4 _x8 3x8"}, 4),
    Case("CreditStarved", "a late scrape", {_NO_CREDIT: "0x4 _x40 15x8", _WAITING: "3x4 _x40 3x8"}, 12),
    Case(
        "PresettledDrops",
        "fires: 1 %, for five minutes",
        {_PRESETTLED: "0+990x80", _DROPPED: "0+10x80"},
        12,
        (ON_R,),
    ),
    Case(
        "PresettledDrops", "does not: one of 100,000", {_PRESETTLED: "0+10000x80", _DROPPED: "0x40 1x40"}, 12
    ),
    Case(
        "PresettledDrops", "does not: a short burst", {_PRESETTLED: "0+990x80", _DROPPED: "0x30 500x50"}, 10
    ),
    Case("PresettledDrops", "data gone", {_PRESETTLED: "0+990x40 stale", _DROPPED: "0+10x40 stale"}, 18),
    Case(
        "PresettledDrops",
        "router restarted: a reset is no drop",
        {_PRESETTLED: "0+990x40 0+990x40", _DROPPED: "90x40 0x40"},
        13,
    ),
    Case(
        "PresettledDrops",
        "ten minutes in one scrape: shares stay",
        {_PRESETTLED: "0x4 0x40 39600+990x60", _DROPPED: "0x104"},
        14,
    ),
)
