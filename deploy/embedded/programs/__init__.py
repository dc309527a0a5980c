"""The real programs of an embedded network, and how each is configured."""
