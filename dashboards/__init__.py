"""What people look at: panels, queries, rules, page, terminal."""
