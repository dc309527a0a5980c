"""AMQP management: the schemas as data, the rows of each entity type, the protocol."""
