"""What Spark tells of its batches becomes metrics; no Spark here."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry

from streaming.spark.progress import Progress

NOW = 1_700_000_100.0


def report(**changes: Any) -> dict[str, Any]:
    """As Spark 4.2 told it of a batch, cut to what is used."""
    return {
        "name": "accounting-0",
        "batchId": 3,
        "durationMs": {"addBatch": 400, "getBatch": 0, "triggerExecution": 600, "walCommit": 20},
        "numInputRows": 28,
        "stateOperators": [{"numRowsTotal": 27, "memoryUsedBytes": 2207728}],
        "sources": [
            {
                "startOffset": {"t.samples": {"0": 100, "1": 40}},
                "endOffset": {"t.samples": {"0": 120, "1": 48}},
                "latestOffset": {"t.samples": {"0": 120, "1": 48}},
            }
        ],
        "observedMetrics": {
            "shards": {
                "numbers": [
                    {"counter": "samples", "count": 800},
                    {"counter": "malformed", "count": 2},
                    {"counter": "newest_ms", "count": 1_700_000_090_000},
                    {"counter": "samples", "count": 91},
                    {"counter": "repeats", "count": 5},
                    {"counter": "newest_ms", "count": 1_700_000_080_000},
                ]
            },
        },
        **changes,
    }


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    """Of the accounting's series."""
    return registry.get_sample_value(f"inflight_stream_{name}", {"query": "accounting-0", **labels})


def test_a_report_is_counted() -> None:
    """Records, samples, what was put aside, phases, and the size of the state."""
    registry = CollectorRegistry()
    progress = Progress(registry, lambda: int(NOW * 1e9))
    progress.begin("accounting-0")
    progress.begin_accounting("accounting-0")
    assert value(registry, "dead_letters_total", reason="malformed") == 0
    progress.apply(report())
    progress.apply(report())
    assert value(registry, "records_total") == 56
    assert value(registry, "samples_total") == 2 * 891
    assert value(registry, "dead_letters_total", reason="malformed") == 4
    assert value(registry, "dead_letters_total", reason="other") == 0
    assert value(registry, "ignored_total", reason="repeats") == 10
    assert value(registry, "batch_seconds_sum", phase="triggerExecution") == 1.2
    assert value(registry, "batch_seconds_count", phase="getBatch") is None
    assert value(registry, "state_rows") == 27
    assert value(registry, "state_bytes") == 2207728
    assert value(registry, "last_progress_timestamp_seconds") == NOW
    assert value(registry, "records_lost_total") == 0
    assert progress.batches == {"accounting-0": 2}


def test_a_reason_that_nobody_knows_is_counted_as_another() -> None:
    """Reasons are labels: there are no more of them than the catalogue has."""
    registry = CollectorRegistry()
    progress = Progress(registry, lambda: int(NOW * 1e9))
    progress.apply(report(observedMetrics={"shards": {"numbers": [{"counter": "made up", "count": 3}]}}))
    assert value(registry, "dead_letters_total", reason="other") == 3


def test_a_query_has_reasons_of_its_own() -> None:
    """They begin at 0, and are counted beside those of the accounting."""
    registry = CollectorRegistry()
    progress = Progress(registry, lambda: int(NOW * 1e9))
    progress.begin("accounting-0", ("router",))
    assert value(registry, "dead_letters_total", reason="router") == 0
    progress.apply(report(observedMetrics={"shards": {"numbers": [{"counter": "router", "count": 3}]}}))
    assert value(registry, "dead_letters_total", reason="router") == 3
    progress.apply(report(name="accounting-1"))
    assert value(registry, "dead_letters_total", reason="router") == 3


def test_lag_is_the_age_of_the_newest_record_read_while_there_are_more() -> None:
    """By append time; nothing left in Kafka is no lag, however old the last record is."""
    registry = CollectorRegistry()
    progress = Progress(registry, lambda: int(NOW * 1e9))
    progress.apply(report())
    assert value(registry, "lag_seconds") == 0
    behind = report()
    behind["sources"][0]["latestOffset"] = {"t.samples": {"0": 500, "1": 48}}
    progress.apply(behind)
    assert value(registry, "lag_seconds") == 10.0
    progress.idle("accounting-0")
    assert value(registry, "lag_seconds") == 0


def test_what_kafka_dropped_before_it_was_read_is_counted() -> None:
    """Fewer records than lie between the offsets."""
    registry = CollectorRegistry()
    progress = Progress(registry, lambda: int(NOW * 1e9))
    lossy = report()
    lossy["numInputRows"] = 20
    progress.apply(report())
    assert value(registry, "records_lost_total") is None
    progress.apply(lossy)
    assert value(registry, "records_lost_total") == 8


def test_a_first_batch_has_no_start() -> None:
    """Nor have partitions that were added since: nothing is taken for lost."""
    registry = CollectorRegistry()
    progress = Progress(registry, lambda: int(NOW * 1e9))
    progress.begin("accounting-0")
    first = report()
    first["sources"][0]["startOffset"] = None
    progress.apply(first)
    added = report()
    added["sources"][0]["endOffset"]["t.samples"]["2"] = 9
    progress.apply(added)
    assert value(registry, "records_lost_total") == 0
