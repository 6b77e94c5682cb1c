-- probe: Writes a small value.
UPDATE probe SET count = count + 1;

-- damage: Reads all pages, and compares indexes with their tables.
SELECT 'The file is damaged: ' || replace(integrity_check, char(10), '; ')
FROM pragma_integrity_check WHERE integrity_check <> 'ok' LIMIT :most;

-- server_syncs: No server; each connection makes its own settings.

-- lock_blocks: Needs no statement, because SQLite has a single writer.
