"""Which hop: the rows of one path, of the exporter or of the archive, in a sentence and a table."""
