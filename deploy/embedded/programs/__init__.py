"""The programs as services, and their configurations."""
