# ruff: noqa: E501 -- PromQL is read best in few lines
"""Queries about brokers and their queues."""

from __future__ import annotations

from typing import Final

from dashboards.promql import expand


def _some(expression: str) -> str:
    """Expand an expression in which `%` stands for the selection of brokers."""
    return expand(expression.replace("%", 'mesh=~"$mesh",broker=~"$broker"'))


_Q: Final = "sum by (broker, address, queue)"

UP: Final = _some("min by (broker) (broker_up{%})")
MESSAGES: Final = _some("sum(broker_queue_messages{%})")
AT_RISK: Final = _some(
    "count(broker_queue_messages{%} > 0 and on (mesh, broker, queue) broker_queue_consumers{%} == 0) or vector(0)"
)
PAGING: Final = _some("sum(broker_address_paging{%})")
FULLEST: Final = _some("max(broker_disk_ratio{%} or broker_address_memory_ratio{%})")
CONNECTIONS: Final = _some("sum by (broker) (broker_connections{%})")
UPTIME: Final = _some("time() - max by (broker) (broker_start_time_seconds{%})")

DEPTH: Final = _some(f"{_Q} (broker_queue_messages{{%}})")
CONSUMERS: Final = _some(f"{_Q} (broker_queue_consumers{{%}})")
IN: Final = _some(f"{_Q} (rate(broker_queue_added_messages_total{{%}}[$__rate_interval]))")
OUT: Final = _some(f"{_Q} (rate(broker_queue_acknowledged_messages_total{{%}}[$__rate_interval]))")
# Seconds until it is empty at the rates of the last minutes; nothing for one that grows.
DRAIN: Final = _some(
    f"{_Q} (broker_queue_messages{{%}}) / ({_Q} (rate(broker_queue_acknowledged_messages_total{{%}}[5m]))"
    f" - {_Q} (rate(broker_queue_added_messages_total{{%}}[5m])) > 0)"
)
DEPTH_TOP: Final = _some("topk(10, sum by (broker, queue) (broker_queue_messages{%}))")
# Of links to other brokers; one that nothing is known of has no state, and of some there is no backlog to tell.
_LINK: Final = "by (broker, kind, link, to)"
LINK_STATE: Final = _some(f"min {_LINK} (broker_link_up{{%}})")
LINK_BACKLOG: Final = _some(f"sum {_LINK} (broker_link_messages{{%}})")
LINK_DELIVERING: Final = _some(f"sum {_LINK} (broker_link_delivering_messages{{%}})")
LINK_RATE: Final = _some(
    f"sum {_LINK} (rate(broker_link_acknowledged_messages_total{{%}}[$__rate_interval]))"
)
LINK_BACKLOG_TOP: Final = _some("topk(10, sum by (broker, kind, link) (broker_link_messages{%}))")
IN_ALL: Final = _some("sum by (broker) (rate(broker_queue_added_messages_total{%}[$__rate_interval]))")
OUT_ALL: Final = _some(
    "sum by (broker) (rate(broker_queue_acknowledged_messages_total{%}[$__rate_interval]))"
)
# Little's law: those that wait, over those that leave.
TIME_IN_QUEUE: Final = _some(
    "topk(10, sum by (broker, queue) (avg_over_time(broker_queue_messages{%}[5m]))"
    " / (sum by (broker, queue) (rate(broker_queue_acknowledged_messages_total{%}[5m])) > 0))"
)
EXPIRED: Final = _some("sum by (broker) (rate(broker_queue_expired_messages_total{%}[$__rate_interval]))")
KILLED: Final = _some("sum by (broker) (rate(broker_queue_killed_messages_total{%}[$__rate_interval]))")
UNROUTED: Final = _some("sum by (broker) (rate(broker_address_unrouted_messages_total{%}[$__rate_interval]))")
DISK: Final = _some("max by (broker) (broker_disk_ratio{%})")
MEMORY: Final = _some("max by (broker) (broker_address_memory_ratio{%})")
FDS: Final = _some("max by (broker) (broker_open_fds{%} / broker_max_fds{%})")
ADDRESS_LIMIT: Final = _some("topk(5, max by (broker, address) (broker_address_limit_ratio{%}))")
HEAP: Final = _some(
    'sum by (broker, pool) (broker_jvm_memory_bytes{%,stat="used",pool=~"eden|survivor|old|metaspace"})'
)
HEAP_MAX: Final = _some('sum by (broker) (broker_jvm_memory_bytes{%,stat="max",pool="heap"})')
GC: Final = _some("sum by (broker, gc) (rate(broker_jvm_gc_seconds_total{%}[$__rate_interval]))")
CPU: Final = _some("sum by (broker) (rate(broker_cpu_seconds_total{%}[$__rate_interval]))")
LOAD: Final = _some("max by (broker) (broker_load1{%})")
THREADS: Final = _some("max by (broker) (broker_jvm_threads{%})")
