"""What every process of ours needs: threads that do not end in silence, a log of troubles, clocks, files."""
