"""What goes to Kafka and Prometheus: records, rows, events, topics, metrics; it imports nothing of ours."""
