"""The job for a Spark cluster: the archive that spark-submit takes."""
