"""The parts as processes put together: usable by commands, tests and other parts."""
