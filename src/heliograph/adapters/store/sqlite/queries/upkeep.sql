-- end_of_block: The last key of the next block. Ids are assigned in the order of commits here, so no message below the
-- newest is still uncommitted.
SELECT key FROM message WHERE key > :beyond ORDER BY key LIMIT 1 OFFSET :rest;

-- probe: Writes a small value.
UPDATE probe SET count = count + 1;

-- damage: Reads all pages, and compares indexes with their tables.
SELECT 'The file is damaged: ' || replace(integrity_check, char(10), '; ')
FROM pragma_integrity_check WHERE integrity_check <> 'ok' LIMIT :most;

-- server_syncs: No server; each connection makes its own settings.
