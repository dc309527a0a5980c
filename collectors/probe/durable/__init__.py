"""What survives kill -9: journals, rows, and their recovery at the next start."""
