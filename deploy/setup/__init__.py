"""The set-up of a checkout: `.venv` from the lock file, and the JVM parts. Standard library only."""
