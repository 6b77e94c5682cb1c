"""Administration: accounts, connectors, users, and what they look at."""
