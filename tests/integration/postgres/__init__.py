"""PostgreSQL, and what only a server far away can do to a store."""
