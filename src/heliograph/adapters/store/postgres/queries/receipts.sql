-- awaited: The messages that await these receipts.
SELECT DISTINCT a.key FROM unnest(:operator_ids::text[]) AS w (operator_id)
CROSS JOIN LATERAL (
    SELECT key FROM awaiting AS a WHERE a.connector = :connector AND a.operator_id = w.operator_id OFFSET 0
) AS a
WHERE NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = a.key)
ORDER BY a.key;

-- forget_early: Deletes receipts that are too old, or too many, among the oldest. MATERIALIZED, because a plan that
-- selects the old receipts for each row would find others each time, and delete too many.
WITH oldest AS MATERIALIZED (
    SELECT id, at FROM early ORDER BY id LIMIT :limit
), old AS MATERIALIZED (
    SELECT id FROM early
    WHERE id IN (SELECT id FROM oldest WHERE at < :before OR id <= (SELECT max(id) FROM early) - :most)
    ORDER BY id FOR UPDATE
)
DELETE FROM early WHERE id IN (SELECT id FROM old) RETURNING 1;
