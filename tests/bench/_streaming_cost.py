"""What the accounting costs by path and sample, how exact it is, how much it keeps: no Spark, no Kafka."""

from __future__ import annotations

import time

import numpy as np
from spark_job import RULES
from synthetic import EPOCH, Flow

from collectors.contract.records import SECOND_NS
from collectors.contract.window_rows import PERCENTILES
from streaming.histogram import Histogram, indexes
from streaming.shard.outputs import Input
from streaming.shard.shard import LogEntry, Shard, ShardRules, Snapshot

GRID = (
    (10, 10),
    (10, 1_000),
    (10, 10_000),
    (100, 10),
    (100, 100),
    (100, 1_000),
    (1_000, 10),
    (1_000, 100),
    (3_000, 30),
)
_SHARDS = 8
_SECONDS = 20  # two snapshots of each shard
_VALUES = 1_000_000


def batch_seconds(paths: int, rate: int) -> float:
    """Return the mean CPU seconds of a batch of one second, over all shards, without the first ones."""
    flows = [Flow(f"path-{n:04}", rate) for n in range(paths)]
    shards = [(Shard(ShardRules(RULES)), dict[int, bytes]()) for _ in range(min(_SHARDS, paths))]
    took = []
    for second in range(_SECONDS):
        batch = [
            (n % len(shards), Input(0, second, (EPOCH + second + 1) * SECOND_NS, flow.path.encode(), value))
            for n, flow in enumerate(flows)
            for value in flow.second(second)
        ]
        began = time.process_time()
        for number, (shard, store) in enumerate(shards):
            shard.begin(store.get)
            for where, one in batch:
                if where == number:
                    shard.apply(one)
            _, changes = shard.finish()
            _take(store, changes)
        took.append(time.process_time() - began)
    return float(np.mean(took[2:]))


def cost_model(grid: dict[tuple[int, int], float]) -> dict[str, float]:
    """Return CPU seconds a path and batch, and a sample, fitted by least squares of the relative error."""
    points = [(paths, paths * rate, seconds) for (paths, rate), seconds in grid.items()]
    table = np.array([[paths / seconds, samples / seconds] for paths, samples, seconds in points])
    (per_path, per_sample), *_ = np.linalg.lstsq(table, np.ones(len(points)), rcond=None)
    return {"cost_path_batch_seconds": float(per_path), "cost_sample_seconds": float(per_sample)}


def live_model(cores: dict[tuple[int, int], float]) -> dict[str, float]:
    """Return the cores of a steady load: a fixed part, one a path, one a sample a second; none below 0."""
    table = np.array([[1.0, paths, paths * rate] for paths, rate in cores])
    used = np.array(list(cores.values()))
    scale = table / used[:, None]
    best = np.zeros(3)
    for chosen in ([0, 1, 2], [0, 1], [0, 2], [1, 2]):
        found, *_ = np.linalg.lstsq(scale[:, chosen], np.ones(len(used)), rcond=None)
        if (found >= 0).all():
            best[chosen] = found
            break
    return dict(
        zip(("model_cores", "model_cores_a_path", "model_cores_a_sample"), best.tolist(), strict=True)
    )


def precision() -> dict[str, float]:
    """Return the largest relative error of any percentile, by the distribution of the data."""
    draw = np.random.default_rng(1)
    normal = draw.normal
    shapes = {
        "lognormal": draw.lognormal(14.5, 1.0, _VALUES),
        "bimodal": np.where(draw.random(_VALUES) < 0.9, normal(2e6, 2e5, _VALUES), normal(8e7, 5e6, _VALUES)),
        "heavy_tail": (draw.pareto(1.2, _VALUES) + 1) * 1e6,
        "constant": np.full(_VALUES, 1_234_567.0),
    }
    found = {}
    for name, drawn in shapes.items():
        values = np.sort(np.clip(drawn, 1, 3.5e12).astype(np.int64))
        histogram = Histogram()
        histogram.record(indexes(values))
        told = histogram.percentiles(list(PERCENTILES.values()))
        exact = [int(values[_VALUES - _VALUES * over // of - 1]) for over, of in PERCENTILES.values()]
        errors = [abs(one - other) / other for one, other in zip(told, exact, strict=True)]
        found[f"precision_{name}_worst_error"] = max(errors)
    return found


def state_bytes(rate: int, seconds: int) -> float:
    """Return the bytes of state of one path that has run for so long."""
    shard, store = Shard(ShardRules(RULES), log_batches=0), dict[int, bytes]()
    flow = Flow("path", rate)
    for second in range(0, seconds, 10):
        shard.begin(store.get)
        for step in range(second, second + 10):
            for value in flow.second(step):
                shard.apply(Input(0, step, (EPOCH + step + 1) * SECOND_NS, b"path", value))
        _, changes = shard.finish()
        _take(store, changes)
    return float(len(shard.header or b"") + sum(len(blob) for blob in store.values()))


def _take(store: dict[int, bytes], changes: Snapshot | LogEntry) -> None:
    for start, blob in changes.windows.items() if isinstance(changes, Snapshot) else ():
        if blob is None:
            del store[start]
        else:
            store[start] = blob
