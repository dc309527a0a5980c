"""What observes the network and writes to Kafka."""
