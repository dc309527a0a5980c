"""A stand-in for a router where none is installed: small, and honest about what it is."""
