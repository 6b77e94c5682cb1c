-- suppression_key: The key of the suppressions' digests; empty where data keys have it.
SELECT key FROM suppression_key;

-- set_suppression_key: Writes the key of the suppressions' digests; its pads are for other engines.
UPDATE suppression_key SET key = :key;

-- overwrite_freed: What is changed or deleted from now on is overwritten in the file.
PRAGMA secure_delete = ON;
