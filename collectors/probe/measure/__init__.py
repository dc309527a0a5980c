"""What a probe measures with: schedule, ledger, arrivals, clocks, and when it stood still."""
