"""Computes windows, classes and percentiles of what probes measured; archives and exports them."""
