"""The live table of a terminal: what it shows, and what its keys do."""
