"""HTTP with peers that may do anything: client, server, what every part serves, and how metrics are made."""
