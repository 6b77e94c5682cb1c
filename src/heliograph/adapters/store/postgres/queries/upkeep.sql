-- probe: Needs no statement, because the transaction writes the writer's own row.

-- server_syncs: Whether the server syncs its writes.
SELECT current_setting('fsync');

-- damage: Reads all rows, and checks indexes where the server has the means.
SELECT finding FROM find_damage() AS finding LIMIT :most;

-- lock_blocks: Waits for commits that another connector's send is in, and has later ones wait for this transaction.
SELECT pg_advisory_xact_lock(hashtext('block'));
