"""What every part's process needs: threads that tell failures, a log of troubles, a clock, private files."""
