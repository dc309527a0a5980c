"""Connections, links and proton's events of a stand-in."""
