"""`inflight status`: a mesh and its brokers as they are now."""
