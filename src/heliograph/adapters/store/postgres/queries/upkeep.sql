-- probe: Needs no statement, because the transaction writes the writer's own row.

-- server_syncs: Whether the server syncs its writes.
SELECT current_setting('fsync');
