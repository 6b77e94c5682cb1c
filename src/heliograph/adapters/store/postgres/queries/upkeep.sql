-- probe: Beginning to write is writing something: the writer's own row.

-- server_syncs: Whether the server syncs what it writes.
SELECT current_setting('fsync');
