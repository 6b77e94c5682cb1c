-- awaited: The messages that await these receipts. CROSS JOIN keeps the ids first: some versions of SQLite would read all
-- receipts that the connector awaits.
SELECT DISTINCT a.key FROM json_each(:operator_ids) AS wanted
CROSS JOIN awaiting AS a ON a.connector = :connector AND a.operator_id = wanted.value
WHERE NOT EXISTS (SELECT 1 FROM final WHERE final.key = a.key)
ORDER BY a.key;

-- forget_early: Deletes receipts that are too old, or too many, among the oldest.
DELETE FROM early WHERE id IN (
    SELECT id FROM (SELECT id, at FROM early ORDER BY id LIMIT :limit)
    WHERE at < :before OR id <= (SELECT max(id) FROM early) - :most
) RETURNING 1;
