"""Many paths' accounting kept together, as snapshots and a log; nothing of Spark."""
