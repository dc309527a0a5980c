"""Final rows as Parquet: where they are, and the way back; nothing of Spark."""
