-- claim_notices: Claims due notices, oldest first.
SELECT key FROM claim_retries(:limit, :now, :node);

-- claim_notices_of: Claims due notices of some accounts, up to a limit for each, oldest first.
SELECT key FROM claim_retries_of(:accounts, :limit, :now, :node);

-- claim_parked: Claims parked notices of some accounts by a way, up to a limit for each, oldest first.
SELECT key FROM claim_parked(:way, :accounts, :limit, :node);

-- replayable: Keys of the undelivered notices among these with a message that was not redacted since.
SELECT c.key FROM callback AS c LEFT JOIN message AS m ON m.key = {subject(c.key)} LEFT JOIN inbound AS i ON i.key = c.key
WHERE c.key {among(keys)} AND c."end" <> {CallbackEnd.DELIVERED}
  AND (m.key IS NULL OR m.destination <> '') AND (i.key IS NULL OR i.coding <> {REDACTED_CODING} AND i.sender <> '')
ORDER BY c.key FOR UPDATE OF c;

-- owe_again: Makes some notices owed from now on.
INSERT INTO callback_retry (key, account, due, attempts, body, problem, "first", way, parked)
SELECT k.key, coalesce(m.account, i.account, b.account), :now, 0, '', '', :now, coalesce(m.way, i.way, {Way.WEBHOOK}), false
FROM unnest(:keys::bigint[]) AS k (key)
LEFT JOIN message AS m ON m.key = {subject(k.key)} LEFT JOIN inbound AS i ON i.key = k.key
LEFT JOIN balance_notice AS b ON b.id = {LOW_BALANCE} - k.key ORDER BY k.key
ON CONFLICT (key) DO UPDATE SET account = excluded.account, due = :now, attempts = 0, "first" = :now, parked = false, node = NULL;

-- droppable: Keys of the unclaimed notices among these.
SELECT key FROM callback_retry WHERE key {among(keys)} AND node IS NULL AND due IS NOT NULL ORDER BY key FOR UPDATE;
