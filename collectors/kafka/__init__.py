"""The way to Kafka and from it: the sink with its spool, clients, and reading within a bound."""
