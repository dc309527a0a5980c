"""Starting, watching and ending processes, so that none is left behind."""
