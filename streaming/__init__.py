"""What computes: windows, percentiles, classes."""
