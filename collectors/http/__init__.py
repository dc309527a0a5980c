"""HTTP with peers that may do anything: what we ask, and what every part serves."""
