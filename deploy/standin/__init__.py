"""A stand-in for a router where none is installed: small, honest about itself, for demonstrations and tests."""
