"""One module per sub-command; deploy.cli finds them by file name."""
