"""`inflight trace`: which way messages take, and how fast each router on it answers."""
