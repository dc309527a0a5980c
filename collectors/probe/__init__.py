"""Probes: send and receive numbered messages along paths."""
