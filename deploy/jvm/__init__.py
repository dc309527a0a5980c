"""The JVM parts: which Java, which jars, and how they are fetched and checked."""
