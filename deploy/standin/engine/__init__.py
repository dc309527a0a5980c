"""Sockets, proton's engine and its events, connections, links and what they count. Imports no other room."""
