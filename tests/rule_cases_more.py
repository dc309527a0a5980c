"""The stories of the brokers' rules and of those about the monitor itself; see rule_cases."""

from __future__ import annotations

from typing import Final

from rule_cases import ON_P, Case, P

_BROKER: Final = 'mesh="m",broker="b"'
ON_B: Final = {"mesh": "m", "broker": "b"}


def _queue(name: str, depth: str, consumers: str) -> dict[str, str]:
    labels = f'{_BROKER},address="{name}",queue="{name}"'
    return {
        f"inflight_broker_queue_messages{{{labels}}}": depth,
        f"inflight_broker_queue_consumers{{{labels}}}": consumers,
    }


_ON_Q: Final = {**ON_B, "address": "orders", "queue": "orders"}
_DISK: Final = f"inflight_broker_disk_ratio{{{_BROKER}}}"
_MEMORY: Final = f"inflight_broker_address_memory_ratio{{{_BROKER}}}"
_FDS: Final = {
    f"inflight_broker_open_fds{{{_BROKER}}}": "900x60",
    f"inflight_broker_max_fds{{{_BROKER}}}": "1000x60",
}
_PAGING: Final = f'inflight_broker_address_paging{{{_BROKER},address="orders"}}'

_LINK: Final = f'{_BROKER},kind="mirror",link="two",to="h:61616"'
_LINK_UP: Final = f"inflight_broker_link_up{{{_LINK}}}"
_ON_LINK: Final = {**ON_B, "kind": "mirror", "link": "two", "to": "h:61616"}


def _waiting(depth: str, limit: str = "1000x200") -> dict[str, str]:
    return {
        f"inflight_broker_link_messages{{{_LINK}}}": depth,
        f"inflight_broker_link_messages_limit{{{_BROKER}}}": limit,
    }


BROKERS: Final = (
    Case("BrokerLinkDown", "fires: down for minutes", {_LINK_UP: "1x4 0x40"}, 4, (_ON_LINK,)),
    Case("BrokerLinkDown", "does not: for a minute", {_LINK_UP: "1x4 0x4 1x40"}, 4),
    Case("BrokerLinkDown", "does not: nothing is known of it", _waiting("0x40"), 4),
    Case("BrokerLinkDown", "data gone", {_LINK_UP: "1x4 0x4 stale"}, 4),
    Case("BrokerLinkDown", "collector restarted: begins anew", {_LINK_UP: "0x6 _x24 0x4"}, 8.25),
    Case("BrokerLinkDown", "a late scrape", {_LINK_UP: "1x4 _x16 0x4"}, 5.75),
    Case("BrokerLinkBacklog", "fires: grows beyond the limit", _waiting("0+50x100"), 20, (_ON_LINK,)),
    Case("BrokerLinkBacklog", "does not: it drains", _waiting("9000-50x100"), 20),
    Case("BrokerLinkBacklog", "does not: it stands", _waiting("9000x100"), 20),
    Case("BrokerLinkBacklog", "does not: the config allows it", _waiting("0+50x100", "10000x100"), 20),
    Case("BrokerLinkBacklog", "data gone", _waiting("0+50x60 stale", "1000x60 stale"), 20),
    Case(
        "BrokerLinkBacklog",
        "collector restarted: the five minutes begin anew",
        _waiting("0+50x60 _x30 4000+50x10", "1000x60 _x30 1000x10"),
        24,
    ),
    Case("BrokerLinkBacklog", "a late scrape", _waiting("0x4 _x40 9000+50x8", "1000x4 _x40 1000x8"), 12),
    Case(
        "QueueGrowsWithoutConsumer",
        "fires: grows for minutes",
        _queue("orders", "0+10x100", "0x100"),
        20,
        (_ON_Q,),
    ),
    Case(
        "QueueGrowsWithoutConsumer", "does not: it has a consumer", _queue("orders", "0+10x100", "1x100"), 20
    ),
    Case("QueueGrowsWithoutConsumer", "does not: it stands", _queue("orders", "500x100", "0x100"), 20),
    Case("QueueGrowsWithoutConsumer", "does not: few", _queue("orders", "0+1x100", "0x100"), 20),
    Case(
        "QueueGrowsWithoutConsumer",
        "does not: the probes' own",
        _queue("inflight.orders", "0+10x100", "0x100"),
        20,
    ),
    Case("QueueGrowsWithoutConsumer", "data gone", _queue("orders", "0+10x60 stale", "0x60 stale"), 20),
    Case(
        "QueueGrowsWithoutConsumer",
        "collector restarted: the five minutes begin anew",
        _queue("orders", "0+10x60 _x30 1000+10x10", "0x60 _x30 0x10"),
        24,
    ),
    Case(
        "QueueGrowsWithoutConsumer",
        "a late scrape: two of them tell no trend of five minutes",
        _queue("orders", "0x4 _x40 900+10x8", "0x4 _x40 0x8"),
        12,
    ),
    Case("BrokerNearLimit", "fires: disk", {_DISK: "0.9x60"}, 6, ({**ON_B, "limit": "disk"},)),
    Case(
        "BrokerNearLimit",
        "fires: disk full in four hours",
        {_DISK: "0.5+0.001x80"},
        16,
        ({**ON_B, "limit": "disk within four hours"},),
    ),
    Case("BrokerNearLimit", "fires: memory", {_MEMORY: "0.95x60"}, 6, ({**ON_B, "limit": "memory"},)),
    Case("BrokerNearLimit", "fires: file descriptors", _FDS, 6, ({**ON_B, "limit": "file descriptors"},)),
    Case("BrokerNearLimit", "does not: below", {_DISK: "0.8x60", _MEMORY: "0.8x60"}, 6),
    Case("BrokerNearLimit", "does not: a new store fills up to a tenth", {_DISK: "0+0.005x20 0.1x60"}, 12),
    Case("BrokerNearLimit", "does not: for a minute", {_MEMORY: "0.5x20 0.95x4 0.5x40"}, 7),
    Case("BrokerNearLimit", "data gone", {_DISK: "0.9x10 stale"}, 6),
    Case(
        "BrokerNearLimit",
        "collector restarted: the five minutes begin anew",
        {_DISK: "0.9x16 _x24 0.9x10"},
        12,
    ),
    Case("BrokerNearLimit", "a late scrape", {_DISK: "0.3x4 _x40 0.4x10"}, 12),
    Case(
        "BrokerPaging",
        "fires: for a quarter of an hour",
        {_PAGING: "1x100"},
        16,
        ({**ON_B, "address": "orders"},),
    ),
    Case("BrokerPaging", "does not: for minutes", {_PAGING: "1x20 0x80"}, 16),
    Case("BrokerPaging", "data gone", {_PAGING: "1x20 stale"}, 20),
    Case("BrokerPaging", "collector restarted: begins anew", {_PAGING: "1x40 _x24 1x20"}, 18),
    Case("BrokerPaging", "a late scrape", {_PAGING: "0x4 _x40 0x20"}, 15),
)

_SENDER: Final = f'inflight_probe_end_up{{{P},end="sender/a",site="s"}}'
_UNOBSERVED: Final = f'inflight_path_messages_total{{{P},class="unobserved"}}'
_RECEIVED: Final = f'inflight_path_messages_total{{{P},class="received"}}'
_BOUND: Final = f"inflight_path_clock_error_bound_seconds{{{P}}}"
_P50: Final = f'inflight_path_window_latency_seconds{{{P},basis="response",quantile="0.5"}}'
_SPOOL: Final = 'inflight_sink_spool_bytes{part="probe",site="s"}'
_OLDEST: Final = 'inflight_sink_oldest_record_seconds{part="probe",site="s"}'
_ROOM: Final = 'inflight_sink_spool_limit_bytes{part="probe",site="s"}'
_ERRORS: Final = "inflight_exporter_accounting_errors_total"
_PROGRESS: Final = 'inflight_stream_last_progress_timestamp_seconds{query="accounting-0"}'
_LAG: Final = 'inflight_stream_lag_seconds{query="accounting-0"}'
_FUTURE: Final = 'inflight_exporter_rows_total{topic="router",result="future"}'
_USED: Final = 'inflight_exporter_rows_total{topic="router",result="used"}'
_STILL: Final = 'inflight_probe_stood_still_seconds_total{site="s"}'
_BLIND: Final = "MonitorBlind"
_STALLED: Final = "PipelineStalled"

MONITOR: Final = (
    Case(
        _BLIND,
        "fires: an end is down",
        {_SENDER: "1x4 0x20"},
        4,
        ({**ON_P, "end": "sender/a", "site": "s", "reason": "probe end down"},),
    ),
    Case(_BLIND, "does not: an end was down for a minute", {_SENDER: "1x4 0x4 1x20"}, 4),
    Case(_BLIND, "does not: maintenance", {_SENDER: "0x40", f"inflight_path_maintenance{{{P}}}": "1x40"}, 5),
    Case(
        _BLIND,
        "fires: one in fifty is unobserved",
        {_UNOBSERVED: "0+2x80", _RECEIVED: "0+98x80"},
        14,
        ({**ON_P, "reason": "messages unobserved"},),
    ),
    Case(
        _BLIND,
        "fires: clocks",
        {_BOUND: "0.02x40", _P50: "0.01x40"},
        5,
        ({**ON_P, "reason": "clocks less sure than the latency"},),
    ),
    Case(_BLIND, "does not: clocks are good", {_BOUND: "0.001x40", _P50: "0.01x40"}, 5),
    Case(
        _BLIND,
        "fires: the spool",
        {_SPOOL: "0+100x40", _ROOM: "1000x40"},
        5,
        ({"part": "probe", "site": "s", "reason": "spool half full"},),
    ),
    Case(
        _BLIND,
        "fires: records wait for longer than Kafka should take",
        {_OLDEST: "0 60 120 180 240 300 360 420"},
        6,
        ({"part": "probe", "site": "s", "reason": "records late"},),
    ),
    Case(_BLIND, "does not: Kafka was away for two minutes", {_OLDEST: "0 60 120 0x20"}, 5),
    Case(
        _BLIND,
        "fires: a probe stands still for a second in fifty",
        {_STILL: "0+0.3x80"},
        14,
        ({"part": "probe", "site": "s", "reason": "stands still"},),
    ),
    Case(_BLIND, "does not: a probe stood still once, for three seconds", {_STILL: "0x8 3x80"}, 14),
    Case(
        _BLIND,
        "fires: the mesh is not polled",
        {'inflight_mesh_up{mesh="m"}': "0x40"},
        5,
        ({"mesh": "m", "reason": "mesh not polled"},),
    ),
    Case(
        _BLIND,
        "fires: a broker is not polled",
        {f"inflight_broker_up{{{_BROKER}}}": "0x40"},
        5,
        ({**ON_B, "reason": "broker not polled"},),
    ),
    Case(
        _BLIND,
        "fires: rows are left out",
        {_FUTURE: "0x8 3x40", _USED: "0+100x40"},
        5,
        ({"topic": "router", "reason": "rows left out"},),
    ),
    Case(_BLIND, "does not: rows are used", {_FUTURE: "3x40", _USED: "0+100x40"}, 5),
    Case(_BLIND, "data gone: told by PipelineStalled and Prometheus' own `up`", {_SENDER: "0x4 stale"}, 5),
    Case(
        _BLIND,
        "exporter restarted: a reset observes nothing less",
        {_UNOBSERVED: "9x40 0x40", _RECEIVED: "0+98x40 0+98x40"},
        14,
    ),
    Case(
        _BLIND,
        "ten minutes of windows in one scrape: shares stay",
        {_UNOBSERVED: "0x84", _RECEIVED: "0+98x20 1960x40 5880+98x20"},
        16,
    ),
    Case(
        _STALLED,
        "fires: no progress",
        {_ERRORS: "0x40", _PROGRESS: "0x40"},
        2,
        ({"query": "accounting-0", "reason": "no progress"},),
    ),
    Case(_STALLED, "does not: it goes on", {_ERRORS: "0x40", _PROGRESS: "0+15x40", _LAG: "2x40"}, 5),
    Case(
        _STALLED,
        "fires: behind",
        {_ERRORS: "0x40", _PROGRESS: "0+15x40", _LAG: "0+15x40"},
        6,
        ({"query": "accounting-0", "reason": "behind"},),
    ),
    Case(
        _STALLED,
        "fires: books do not balance",
        {_ERRORS: "0x8 1x40"},
        5,
        ({"reason": "books do not balance"},),
    ),
    Case(_STALLED, "does not: `inflight run` has no job", {_ERRORS: "0x40"}, 5),
    Case(_STALLED, "does not: Prometheus starts, and has not scraped yet", {_ERRORS: "_x1 0x40"}, 0),
    Case(_STALLED, "data gone: fires", {_ERRORS: "0x4 stale"}, 5, ({"reason": "no exporter"},)),
    Case(
        _STALLED,
        "exporter restarted: within a minute, with its counter at 0 again",
        {_ERRORS: "3x20 _x2 0x20"},
        6.5,
    ),
    Case(
        _STALLED,
        "ten minutes of windows in one scrape: they were late, and now are not",
        {_ERRORS: "0x80", _PROGRESS: "0+15x80", _LAG: "0x4 600 0x80"},
        3,
    ),
    Case("Watchdog", "fires: always", {_ERRORS: "0x40"}, 1, ({},)),
    Case("Watchdog", "data gone: it still does", {_ERRORS: "0x4 stale"}, 30, ({},)),
)
