"""The probes: what sends and receives numbered messages along paths."""
