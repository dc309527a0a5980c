"""The programs of an embedded network as services, and their configurations."""
