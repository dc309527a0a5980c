"""Processes that are started, watched and ended together, and leave nothing behind."""
