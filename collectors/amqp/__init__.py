"""AMQP 1.0, as probes and management use it: connection options, values, sections, management messages."""
