"""Observes the network and writes what it finds to Kafka."""
