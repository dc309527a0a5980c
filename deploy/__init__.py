"""How it runs: the command and the wiring."""
