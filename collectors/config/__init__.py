"""The one YAML file: its form, its reading, and the paths that it describes."""
