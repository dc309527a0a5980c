"""AMQP links on proton's engine: one loop, connections that come back, and the bytes between."""
