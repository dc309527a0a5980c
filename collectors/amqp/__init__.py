"""AMQP 1.0 as probes and management both need it: how to connect, values, management messages."""
