"""The thin Spark around shards: queries, their service, checkpoints, and the file for a cluster."""
