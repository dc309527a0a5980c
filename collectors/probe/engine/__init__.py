"""AMQP 1.0 on proton's engine: the loop, connections that come back, and their links."""
