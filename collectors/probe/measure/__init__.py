"""What a probe measures with: schedule, ledger, arrivals, clocks. Nothing of it knows the protocol."""
