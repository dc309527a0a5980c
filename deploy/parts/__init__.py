"""The parts of Inflight, each put together from a config: for commands, tests and other parts."""
