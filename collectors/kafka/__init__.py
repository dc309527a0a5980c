"""Writing records to Kafka by way of a spool, clients of Kafka, and reading batches of bounded size."""
