"""What brokers say about themselves, over Jolokia."""
