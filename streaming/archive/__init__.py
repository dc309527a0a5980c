"""Final rows as Parquet: where they are kept, and how they are read. Nothing here knows of Spark."""
