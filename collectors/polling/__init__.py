"""What both kinds of collectors share: when to poll, what a poll found, how polls go."""
