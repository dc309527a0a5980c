"""What router and broker collectors share: schedules, counters, and metrics of targets and polls."""
