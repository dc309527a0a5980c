"""The job's memory at a constant load, over half an hour, to see whether it grows."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _lanes
import numpy as np
from _job_processes import resident
from _streaming_feed import Feed, path_name, second_end_ns
from pyspark.sql import SparkSession
from synthetic import Flow

from collectors.config.paths import Rules
from collectors.contract.records import SECOND_NS
from streaming.spark import job
from streaming.spark.settings import JobSettings, KafkaAccess

PATHS, RATE, LANES = 50, 100, 1
# The horizon is short: until it is reached, state grows by design.
RULES = Rules(5 * SECOND_NS, 10 * SECOND_NS, 60 * SECOND_NS, 180 * SECOND_NS)
_EVERY_SECONDS = 10
_LIVE_EVERY_SECONDS = 300  # what of the heap is in use, which takes a collection
_WARM_SHARE = 1 / 3  # of the run: caches fill, code is compiled, the horizon is reached
_MIB = 1 << 20


def measure(
    spark: SparkSession, bootstrap: str, folder: Path, seconds: int, say: Callable[[str], None]
) -> dict[str, float]:
    """Memory of the JVM and of the workers: resident, and what of the heap is alive after a collection.

    Growth is a line's slope, the first third left out.
    """
    settings = JobSettings(
        kafka=KafkaAccess(servers=(bootstrap,)),
        prefix="memory",
        lanes=LANES,
        checkpoint=str(folder / "memory"),
        default_rules=RULES,
    )
    # What a job keeps of its batches is part of its memory.
    queries = _lanes.start(spark, settings, int(job.SETTINGS["spark.sql.streaming.numRecentProgressUpdates"]))
    start = int(time.time()) + 2
    flows = [Flow(path_name(n), RATE, lose_every=1_009, start_second=start) for n in range(PATHS)]
    feed = Feed(bootstrap)
    seen: list[tuple[int, dict[str, int]]] = []
    live: list[tuple[int, int, int]] = []
    for second in range(seconds):
        made = [(flow.path, value) for flow in flows for value in flow.second(second)]
        time.sleep(max(0, second_end_ns(start, second) - time.time_ns()) / SECOND_NS)
        for path, value in made:
            feed.send(settings.samples_topic, path, value)
        feed.flush()
        if second % _EVERY_SECONDS == 0:
            seen.append((second, resident()))
        if second % _LIVE_EVERY_SECONDS == 0:
            used, committed = _heap(spark)
            live.append((second, used, resident()["java"] - committed))
            sizes = {**seen[-1][1], "alive in the heap": used, "beside the heap": live[-1][2]}
            say(f"memory after {second} s, MiB: { {name: size // _MIB for name, size in sizes.items()} }")
    last = [query.lastProgress or {"sources": []} for query in queries]
    input_records = sum(float(each["inputRowsPerSecond"] or 0) for one in last for each in one["sources"])
    _lanes.stop(queries)
    counted = [(second, sizes) for second, sizes in seen if second >= seconds * _WARM_SHARE]
    alive = [sizes for second, *sizes in live if second >= seconds * _WARM_SHARE] or [[0, 0]]
    found = {"memory_run_seconds": float(seconds), "memory_input_records_a_second": input_records}
    for place, sizes in (("first", alive[0]), ("last", alive[-1])):
        found[f"memory_heap_alive_{place}_mib"] = sizes[0] / _MIB
        found[f"memory_beside_heap_{place}_mib"] = sizes[1] / _MIB
    for name in ("java", "python"):
        times = np.array([second for second, _ in counted], float)
        sizes = np.array([sizes.get(name, 0) for _, sizes in counted], float) / _MIB
        found[f"memory_{name}_mib"] = float(np.median(sizes))
        found[f"memory_{name}_growth_mib_an_hour"] = float(np.polyfit(times, sizes, 1)[0] * 3_600)
        found[f"memory_{name}_last_to_first_ratio"] = float(np.median(sizes[-6:]) / np.median(sizes[:6]))
    return found


def _heap(spark: SparkSession) -> tuple[int, int]:
    """Return the bytes of the JVM's heap that are used after a collection, and that it holds."""
    jvm: Any = spark._jvm  # noqa: SLF001 -- the only way to the JVM's memory beans from Python
    beans = jvm.java.lang.management.ManagementFactory.getMemoryMXBean()
    beans.gc()
    usage = beans.getHeapMemoryUsage()
    return int(usage.getUsed()), int(usage.getCommitted())
