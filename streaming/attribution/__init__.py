"""Which hop: losses and delays of paths, joined with what routers and brokers counted meanwhile.

Pure: windows, live rows, polls and events in; rows out. What the numbers mean: streaming/attribution.md.
"""

from streaming.attribution.engine import Attribution

__all__ = ["Attribution"]
