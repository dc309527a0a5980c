"""The catalogue of metrics: name, type, labels and help of each. `collectors.http.metric_factory` makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

PREFIX: Final = "inflight_"
LATENCY_BUCKETS_SECONDS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0),
)

Kind = Literal["gauge", "counter", "histogram", "info", "summary"]
# The metric's name in the catalogue, its labels' values in the catalogue's order, its value.
MetricValue = tuple[str, tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; a counter's name ends in `_total`, an info metric is a gauge that is always 1.

    A summary has quantiles and nothing else: the label `quantile` is reserved for that type.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    help: str
    section: str

    @property
    def full_name(self) -> str:
        return PREFIX + self.name


_P = ("mesh", "path")
_R = ("mesh", "router")
_L = (*_R, "peer", "address", "direction", "type")
_S = (*_R, "link", "identity", "direction", "address")
_B = ("mesh", "broker")
_Q = (*_B, "address", "queue")
_K = (*_B, "kind", "link", "to")
_E = ("kind", "do", "what", "text", "at")

# A table reads best with a line for each row.
# fmt: off
_SECTIONS: Final[dict[str, tuple[tuple[str, Kind, tuple[str, ...], str], ...]]] = {
    "every process": (
        ("build_info", "info", ("part", "version", "config_hash" ), "One per process; differing config hashes are a finding."),
    ),
    "paths, from final windows": (
        ("path_info", "info", (*_P, "address", "source", "target", "via", "settlement"), "A configured path, for joins."),
        ("path_sent_messages_total", "counter", _P, "Messages sent, in final windows."),
        ("path_messages_total", "counter", (*_P, "class"), "Messages by class at first finality; adds up to the messages sent."),
        ("path_reclassified_messages_total", "counter", (*_P, "from", "to"), "Messages that later revisions moved from one class to another."),
        ("path_late_messages_total", "counter", _P, "Messages received after their window was final."),
        ("path_duplicate_messages_total", "counter", _P, "Copies of messages received before."),
        ("path_redelivered_messages_total", "counter", _P, "Messages received with the redelivered flag."),
        ("path_reordered_messages_total", "counter", _P, "Messages received below the highest number seen of their stream."),
        ("path_foreign_messages_total", "counter", _P, "Messages that are not of this flow."),
        ("path_unexpected_messages_total", "counter", _P, "Messages received with a number that no ledger covers."),
        ("path_negative_latency_messages_total", "counter", _P, "Messages received before they were sent, by the clocks."),
        ("path_unsent_messages_total", "counter", (*_P, "reason"), "Messages due but given up for good: no credit, no connection, the guard, or stalled, which is when the probe's process stood still."),
        ("path_sent_bytes_total", "counter", _P, "Bytes of the bodies of messages sent."),
        ("path_received_bytes_total", "counter", _P, "Bytes of the bodies of messages received."),
        ("path_response_latency_seconds", "histogram", _P, "Received less intended, in final windows."),
        ("path_service_latency_seconds", "histogram", _P, "Received less sent, in final windows; off by default."),
        ("path_window_latency_seconds", "summary", (*_P, "basis", "quantile"), "Latency in the last final window; quantile 1 is the maximum."),
        ("path_window_jitter_seconds", "summary", (*_P, "quantile"), "Absolute inter-packet delay variation in the last final window."),
        ("path_window_jitter_max_seconds", "gauge", _P, "Largest signed delay variation in the last final window."),
        ("path_window_jitter_min_seconds", "gauge", _P, "Smallest signed delay variation in the last final window."),
        ("path_window_messages", "gauge", (*_P, "class"), "Messages by class in the last final window."),
        ("path_window_end_timestamp_seconds", "gauge", _P, "When the last final window ended: the true time of what is shown."),
        ("path_last_received_timestamp_seconds", "gauge", _P, "When the last message was received."),
        ("path_suspect_messages", "gauge", _P, "Messages missing for longer than usual, not final yet."),
        ("path_pending_messages", "gauge", _P, "Messages sent whose windows are not final yet."),
        ("path_outage_seconds", "gauge", _P, "Running stretch of send time with nothing delivered."),
        ("path_outage_seconds_total", "counter", _P, "Send time with nothing delivered, in final windows."),
        ("path_windows_total", "counter", (*_P, "result"), "Final windows, complete or incomplete."),
        ("path_clock_offset_seconds", "gauge", _P, "The receiver's clock less the sender's."),
        ("path_clock_error_bound_seconds", "gauge", _P, "How far off the clock offset may be."),
        ("path_slo_messages_total", "counter", (*_P, "slo"), "Messages that count for the objective."),
        ("path_slo_good_messages_total", "counter", (*_P, "slo"), "Messages that met the objective."),
        ("path_slo_objective_ratio", "gauge", (*_P, "slo"), "The objective, from the config."),
        ("path_slo_bound_seconds", "gauge", (*_P, "slo"), "The latency bound of the objective, from the config."),
        ("path_slo_budget_left_ratio", "gauge", (*_P, "slo"), "What is left of the messages that the objective lets fail in 30 days: 1 is all, below 0 too many failed."),
        ("path_slo_overspent_since_timestamp_seconds", "gauge", (*_P, "slo"), "Since when the budget has been below 0; 0 where it is not."),
        ("path_state", "gauge", _P, "The state that the path is in, as a number; the higher, the worse."),
        ("path_maintenance", "gauge", _P, "1 inside a marked maintenance window."),
    ),
    "which hop, from rows of attribution": (
        ("path_explained_messages_total", "counter", (*_P, "class", "hop", "cause"), "Messages lost or refused that a hop explains, when an episode is first final; hops beyond 64 of a path are _other."),
        ("path_unexplained_messages_total", "counter", (*_P, "class"), "Messages lost or refused that no hop explains, when an episode is first final."),
        ("path_reexplained_messages_total", "counter", (*_P, "class", "hop", "cause", "direction"), "What later revisions of final episodes changed: explained plus added less removed is what is said now; cause unexplained, with no hop, is of the messages that no hop explains."),
        ("path_delay_explained_seconds", "gauge", (*_P, "hop", "cause"), "Of the newest slow episode while it is open, the delay that a hop explains; not there otherwise."),
        ("path_route_messages", "gauge", (*_P, "place", "hop", "flow"), "Messages into and out of each stop of the route in the newest episode with lost or refused messages, by place along the route; as long as path_blamed_hop."),
        ("path_blamed_hop", "gauge", (*_P, "hop", "cause"), "Messages said of the first hop of the newest episode with lost or refused messages, one series for a path, until ten minutes after the episode's end; for the texts of alerts."),
    ),
    "probes": (
        ("probe_end_up", "gauge", (*_P, "end", "site"), "1 where the end is connected, attached and, a sender, has credit."),
        ("probe_messages_total", "counter", (*_P, "end", "outcome"), "Messages seen by an end, live, before any accounting."),
        ("probe_schedule_lag_seconds", "histogram", _P, "Sent less intended."),
        ("probe_clock_steps_total", "counter", ("site", ), "Steps of the wall clock or suspensions that ended a run."),
        ("probe_stood_still_seconds_total", "counter", ("site", ), "Time in which the process did not run: nothing was sent, and what is missing of it is unobserved."),
        ("sink_spool_bytes", "gauge", ("part", "site" ), "Bytes waiting for Kafka."),
        ("sink_spool_limit_bytes", "gauge", ("part", "site" ), "Bytes that may wait for Kafka."),
        ("sink_oldest_record_seconds", "gauge", ("part", "site" ), "Age of the oldest record waiting for Kafka."),
        ("sink_dropped_seconds_total", "counter", ("part", "site", "reason" ), "Send seconds, or records of a collector, given up; of reason damaged, files of the spool."),
    ),
    "routers": (
        ("router_up", "gauge", _R, "1 where the last poll of the router succeeded, through any of the mesh's URLs."),
        ("router_cut_off", "gauge", (*_R, "from"), "1 for a router that answers at a URL of its own, and to which there is no way in the mesh from another one."),
        ("router_start_time_seconds", "gauge", _R, "When the router started."),
        ("router_info", "info", (*_R, "flavour", "version", "mode"), "Dispatch or skupper; interior, edge or standalone."),
        ("router_objects", "gauge", (*_R, "kind"), "Addresses, links, nodes, link_routes, auto_links and connections."),
        ("router_memory_bytes", "gauge", (*_R, "kind"), "Memory of the router's process, virtual and resident."),
        ("router_outcomes_total", "counter", (*_R, "outcome"), "Deliveries by outcome."),
        ("router_deliveries_total", "counter", (*_R, "flow"), "Deliveries by flow: ingress, egress, transit, to and from route containers, fallback."),
        ("router_delayed_deliveries_total", "counter", (*_R, "threshold"), "Deliveries that took longer than the threshold to settle."),
        ("router_stuck_deliveries", "gauge", _R, "Deliveries that have been stuck for long."),
        ("router_blocked_links", "gauge", _R, "Links without credit for long."),
        ("router_link_deliveries_total", "counter", _L, "Deliveries over links, summed; peer for links between routers, address for end points."),
        ("router_link_outcomes_total", "counter", (*_L, "outcome"), "Deliveries over links by outcome, summed."),
        ("router_link_delayed_deliveries_total", "counter", (*_L, "threshold"), "Deliveries over links that took longer than the threshold to settle."),
        ("router_link_undelivered_messages", "gauge", _L, "Messages waiting to go out over links, summed; between routers less as many as may be the collector's own."),
        ("router_link_unsettled_messages", "gauge", _L, "Messages gone out over links and not settled, summed; between routers less as many as may be the collector's own."),
        ("router_link_credit", "gauge", _L, "Credit available on links, summed."),
        ("router_link_capacity", "gauge", _L, "Capacity of links, summed."),
        ("router_link_zero_credit_seconds", "gauge", _L, "Longest time that one of the links is without credit."),
        ("router_link_stuck_deliveries", "gauge", _L, "Deliveries on links that have been stuck for long, summed."),
        ("router_single_link_up", "gauge", _S, "1 where the link is up; single links are told where the config's `links` matches their names."),
        ("router_single_link_deliveries_total", "counter", _S, "Deliveries over the link."),
        ("router_single_link_outcomes_total", "counter", (*_S, "outcome"), "Deliveries over the link by outcome."),
        ("router_single_link_undelivered_messages", "gauge", _S, "Messages waiting to go out over the link."),
        ("router_single_link_unsettled_messages", "gauge", _S, "Messages gone out over the link and not settled."),
        ("router_single_link_credit", "gauge", _S, "Credit available on the link."),
        ("router_links", "gauge", (*_R, "type", "direction", "status"), "Links."),
        ("router_connections", "gauge", (*_R, "role", "direction", "status"), "Connections."),
        ("router_connector_up", "gauge", (*_R, "name"), "1 where the connector is connected."),
        ("router_auto_link_up", "gauge", (*_R, "name"), "1 where the auto-link is active."),
        ("router_link_route_up", "gauge", (*_R, "name"), "1 where the link route is active."),
        ("router_address_deliveries_total", "counter", (*_R, "address", "flow"), "Deliveries by address, of the addresses that match the patterns."),
        ("router_address_subscribers", "gauge", (*_R, "address", "scope"), "Subscribers by address, local and remote."),
        ("router_allocator_held_objects", "gauge", (*_R, "type"), "Objects held by threads."),
        ("router_allocator_held_bytes", "gauge", (*_R, "type"), "Memory of the objects held by threads; the largest ten types, the others as _other."),
        ("router_allocator_object_bytes", "gauge", (*_R, "type"), "Size of one object."),
        ("router_allocator_batch_objects", "gauge", (*_R, "type"), "Objects moved at once between a thread and the global pool."),
        ("router_allocator_thread_max_objects", "gauge", (*_R, "type"), "Free objects a thread may keep."),
        ("router_allocator_global_max_objects", "gauge", (*_R, "type"), "Free objects the global pool may keep."),
        ("router_allocator_heap_allocated_objects_total", "counter", (*_R, "type"), "Objects taken from the heap."),
        ("router_allocator_heap_freed_objects_total", "counter", (*_R, "type"), "Objects given back to the heap."),
        ("router_allocator_rebalanced_batches_total", "counter", (*_R, "type", "to"), "Batches moved between threads and the global pool."),
        ("mesh_up", "gauge", ("mesh", ), "1 where the last poll of the mesh succeeded, through any of its URLs, whatever single routers did."),
        ("mesh_url_up", "gauge", ("mesh", "url" ), "1 where the last poll through the URL succeeded."),
        ("mesh_edge_up", "gauge", ("mesh", "id", "source", "target" ), "1 where the link between two routers is up."),
        ("mesh_edge_cost", "gauge", ("mesh", "id", "source", "target" ), "Cost of the link between two routers."),
        ("mesh_topology_differences", "gauge", ("mesh", "kind" ), "Routers and links missing or unexpected against the config."),
        ("mesh_deliveries_total", "counter", ("mesh", "ingress", "egress" ), "Deliveries by the router where they came in and the one where they went out."),
    ),
    "brokers": (
        ("broker_up", "gauge", _B, "1 where the last poll of the broker succeeded."),
        ("broker_start_time_seconds", "gauge", _B, "When the broker's process started."),
        ("broker_info", "info", (*_B, "version", "product", "ha_role"), "The broker's product, version and role."),
        ("broker_queue_messages", "gauge", _Q, "Messages in the queue."),
        ("broker_queue_delivering_messages", "gauge", _Q, "Messages given to consumers and not acknowledged."),
        ("broker_queue_scheduled_messages", "gauge", _Q, "Messages scheduled for later."),
        ("broker_queue_consumers", "gauge", _Q, "Consumers."),
        ("broker_queue_persistent_bytes", "gauge", _Q, "Bytes of durable messages."),
        ("broker_queue_added_messages_total", "counter", _Q, "Messages added."),
        ("broker_queue_acknowledged_messages_total", "counter", _Q, "Messages acknowledged."),
        ("broker_queue_expired_messages_total", "counter", _Q, "Messages expired."),
        ("broker_queue_killed_messages_total", "counter", _Q, "Messages killed."),
        ("broker_link_up", "gauge", _K, "1 where the link to another broker (kind bridge, amqp, mirror or network) is started, connected, and, as far as the queue that feeds it is known, takes messages from it."),
        ("broker_link_started", "gauge", _K, "1 where the broker says that the link is started."),
        ("broker_link_connected", "gauge", _K, "1 where the broker says that the link is connected; it may say so while the peer hangs."),
        ("broker_link_messages", "gauge", _K, "Messages that wait for the link: in the queue of a bridge, in a mirror's own queue."),
        ("broker_link_delivering_messages", "gauge", _K, "Of these, messages given to the link and not acknowledged."),
        ("broker_link_sent_messages_total", "counter", _K, "Messages that a bridge has sent."),
        ("broker_link_acknowledged_messages_total", "counter", _K, "Messages of a bridge that the peer has acknowledged; what was mirrored, acknowledgements and new queues included."),
        ("broker_link_messages_limit", "gauge", _B, "Messages that may wait for a link, from the config."),
        ("broker_address_paging", "gauge", (*_B, "address"), "1 where the address is paging to disk."),
        ("broker_address_pages", "gauge", (*_B, "address"), "Pages on disk."),
        ("broker_address_bytes", "gauge", (*_B, "address"), "Memory of the address's messages."),
        ("broker_address_limit_ratio", "gauge", (*_B, "address"), "Share of the address's memory limit in use."),
        ("broker_address_unrouted_messages_total", "counter", (*_B, "address"), "Messages that no queue took."),
        ("broker_address_memory_ratio", "gauge", _B, "Share of the memory for messages in use."),
        ("broker_disk_ratio", "gauge", _B, "Share of the disk store in use."),
        ("broker_connections", "gauge", _B, "Connections."),
        ("broker_jvm_memory_bytes", "gauge", (*_B, "pool", "stat"), "Memory of the JVM: eden, survivor, old, metaspace, heap, non_heap; init, committed, max, used."),
        ("broker_jvm_gc_seconds_total", "counter", (*_B, "gc"), "Time spent in garbage collection."),
        ("broker_jvm_gc_collections_total", "counter", (*_B, "gc"), "Garbage collections."),
        ("broker_jvm_threads", "gauge", _B, "Live threads."),
        ("broker_jvm_classes", "gauge", _B, "Loaded classes."),
        ("broker_load1", "gauge", _B, "Load average of the broker's machine over a minute."),
        ("broker_cpu_seconds_total", "counter", _B, "CPU time of the broker's process."),
        ("broker_open_fds", "gauge", _B, "Open file descriptors."),
        ("broker_max_fds", "gauge", _B, "File descriptors that may be open."),
        ("broker_free_memory_bytes", "gauge", _B, "Free memory of the machine."),
        ("broker_free_swap_bytes", "gauge", _B, "Free swap of the machine."),
        ("broker_committed_virtual_bytes", "gauge", _B, "Virtual memory of the broker's process."),
    ),
    "collectors": (
        ("collector_poll_seconds", "histogram", ("collector", "target" ), "How long polls take."),
        ("collector_polls_total", "counter", ("collector", "target", "result" ), "Polls by result: ok, timeout, refused, unreachable, auth, tls, denied, lost or bad_reply."),
        ("collector_bad_replies_total", "counter", ("collector", "target", "reason" ), "Replies, or parts of them, that could not be used."),
        ("collector_omitted_series", "gauge", ("collector", "target", "entity" ), "Series left out by a filter or the cap."),
    ),
    "the Spark job": (
        ("stream_lag_seconds", "gauge", ("query", ), "How long ago Kafka took the newest record processed, while more wait; 0 when none does."),
        ("stream_state_rows", "gauge", ("query", ), "Rows in the state store."),
        ("stream_state_bytes", "gauge", ("query", ), "Memory of the state store."),
        ("stream_last_progress_timestamp_seconds", "gauge", ("query", ), "When the query last finished a batch."),
        ("stream_batch_seconds", "histogram", ("query", "phase" ), "Duration of batches by phase."),
        ("stream_records_total", "counter", ("query", ), "Records read."),
        ("stream_samples_total", "counter", ("query", ), "Samples in the records read."),
        ("stream_ignored_total", "counter", ("query", "reason" ), "Records seen before or of a warm-up, and samples from before the start or beyond the horizon."),
        ("stream_records_lost_total", "counter", ("query", ), "Records that Kafka had dropped before they were read."),
        ("stream_restarts_total", "counter", ("query", ), "Failures after which the query started again from its checkpoint."),
        ("stream_dead_letters_total", "counter", ("query", "reason" ), "Records put aside, by reason."),
    ),
    "the exporter": (
        ("exporter_freshness_seconds", "histogram", (), "From received to visible here."),
        ("exporter_rows_total", "counter", ("topic", "result" ), "Rows read: used; repeat; old, a revision of a window that was not counted here; or left out: bad; future, of more than 10 min after this clock; full, no room to keep it."),
        ("exporter_accounting_errors_total", "counter", (), "Windows whose classes do not add up; must stay 0."),
        ("event_active", "gauge", ("kind", "text"), "1 while something done to the network on purpose goes on, and shortly after; for annotations."),
        ("event_begun_timestamp_seconds", "gauge", _E, "When a fault or a deployment began; with all that is told of it, until an hour after its end."),
        ("event_ended_timestamp_seconds", "gauge", _E, "When it ended; not there while it goes on."),
        ("event_detected_seconds", "gauge", _E, "From its begin until the exporter first showed trouble of a path; not there where none was seen."),
        ("event_recovered_seconds", "gauge", _E, "From its end until the first clean window of the last path that it touched; not there before, nor where it touched none."),
        ("event_touched_paths", "gauge", _E, "Paths with a bad window while it went on, or within 30 s after; not there where no window of that time is known."),
        ("event_lost_messages", "gauge", _E, "Messages lost in windows of these paths, from its begin until each is clean again."),
    ),
}

# fmt: on

CATALOGUE: Final[dict[str, Metric]] = {
    name: Metric(name, kind, labels, text, section)
    for section, metrics in _SECTIONS.items()
    for name, kind, labels, text in metrics
}
