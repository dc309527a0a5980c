"""The accounting of many paths, kept together as snapshots and a log. Nothing here knows of Spark."""
