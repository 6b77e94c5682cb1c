-- claim_notices: Claims due notices, oldest first.
UPDATE callback_retry SET node = :node WHERE key IN (
    SELECT r.key FROM callback_retry AS r
    LEFT JOIN final AS f ON f.key = r.key
    WHERE r.node IS NULL AND r.due IS NOT NULL AND r.due <= :now
      AND (r.key < 0 OR f.state IS NOT NULL OR EXISTS (SELECT 1 FROM inbound AS i WHERE i.key = r.key))
    ORDER BY r.due, r.key LIMIT :limit
) RETURNING key;

-- claim_notices_of: Claims due notices of some accounts, up to a limit for each, oldest first.
UPDATE callback_retry SET node = :node WHERE key IN (
    SELECT c.key FROM json_each(:accounts) AS a CROSS JOIN callback_retry AS c ON c.key IN (
        SELECT r.key FROM callback_retry AS r
        LEFT JOIN final AS f ON f.key = r.key
        WHERE r.node IS NULL AND r.account = a.value AND r.due IS NOT NULL AND r.due <= :now
          AND (r.key < 0 OR f.state IS NOT NULL OR EXISTS (SELECT 1 FROM inbound AS i WHERE i.key = r.key))
        ORDER BY r.due, r.key LIMIT :limit
    )
) RETURNING key;

-- claim_parked: Claims parked notices of some accounts by a way, up to a limit for each, oldest first.
UPDATE callback_retry SET node = :node WHERE key IN (
    SELECT c.key FROM json_each(:accounts) AS a CROSS JOIN callback_retry AS c ON c.key IN (
        SELECT r.key FROM callback_retry AS r
        WHERE r.parked <> 0 AND r.way = :way AND r.account = a.value AND r.node IS NULL AND r.due IS NOT NULL
        ORDER BY r.due, r.key LIMIT :limit
    )
) RETURNING key;

-- replayable: Keys of the undelivered notices among these with a message that was not redacted since.
SELECT c.key FROM callback AS c LEFT JOIN message AS m ON m.key = {subject(c.key)} LEFT JOIN inbound AS i ON i.key = c.key
WHERE c.key {among(keys)} AND c."end" <> {CallbackEnd.DELIVERED}
  AND (m.key IS NULL OR m.destination <> '') AND (i.key IS NULL OR i.coding <> {REDACTED_CODING} AND i.sender <> '');

-- owe_again: Makes some notices owed from now on.
INSERT INTO callback_retry (key, account, due, attempts, body, problem, "first", way, parked)
SELECT k.value, coalesce(m.account, i.account, b.account), :now, 0, x'', '', :now, coalesce(m.way, i.way, {Way.WEBHOOK}), 0
FROM json_each(:keys) AS k
LEFT JOIN message AS m ON m.key = {subject(k.value)} LEFT JOIN inbound AS i ON i.key = k.value
LEFT JOIN balance_notice AS b ON b.id = {LOW_BALANCE} - k.value WHERE true
ON CONFLICT (key) DO UPDATE SET account = excluded.account, due = :now, attempts = 0, "first" = :now, parked = 0, node = NULL;

-- droppable: Keys of the unclaimed notices among these.
SELECT key FROM callback_retry WHERE key {among(keys)} AND node IS NULL AND due IS NOT NULL;
