-- end_of_block: The last key of the next block. Ids are given in the order of commits here: below the newest message
-- none is still to come.
SELECT key FROM message WHERE key > :beyond ORDER BY key LIMIT 1 OFFSET :rest;

-- probe: Writes something small.
UPDATE probe SET count = count + 1;

-- server_syncs: No server; each connection sets for itself what it relies on.
