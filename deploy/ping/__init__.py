"""One path measured from the command line, with no config and no Kafka."""
