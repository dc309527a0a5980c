"""What a stand-in tells over AMQP management."""
