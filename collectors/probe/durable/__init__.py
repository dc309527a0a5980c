"""What outlives kill -9: journals, rows, and what is done with them afterwards."""
