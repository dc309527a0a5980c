"""What routers say about themselves, over AMQP management."""
