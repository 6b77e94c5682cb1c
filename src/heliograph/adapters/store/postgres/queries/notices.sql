-- claim_notices: Claims the notices that are due, oldest first.
SELECT key FROM claim_retries(:limit, :now, :node);

-- claim_notices_of: Claims the notices of some accounts that are due, so many of each, each one's oldest first.
SELECT key FROM claim_retries_of(:accounts, :limit, :now, :node);

-- claim_parked: Claims parked notices of some accounts by one way, so many of each, each one's oldest first.
SELECT key FROM claim_parked(:way, :accounts, :limit, :node);

-- ended_keys: Notices that ended undelivered, and whose message was not redacted since: a message's, an account's, or all.
SELECT c.key FROM callback AS c LEFT JOIN message AS m ON m.key = {subject(c.key)} LEFT JOIN inbound AS i ON i.key = c.key
WHERE c."end" <> {CallbackEnd.DELIVERED} AND (:account::bigint IS NULL OR coalesce(m.account, i.account) = :account)
  AND (:key::bigint IS NULL OR c.key = :key)
  AND (m.key IS NULL OR m.destination <> '') AND (i.key IS NULL OR i.coding <> {REDACTED_CODING} AND i.sender <> '')
ORDER BY c.key FOR UPDATE OF c;

-- owe_again: Owes some notices from now on.
INSERT INTO callback_retry (key, account, due, attempts, body, problem, "first", way, parked)
SELECT k.key, coalesce(m.account, i.account), :now, 0, '', '', :now, coalesce(m.way, i.way), false FROM unnest(:keys::bigint[]) AS k (key)
LEFT JOIN message AS m ON m.key = {subject(k.key)} LEFT JOIN inbound AS i ON i.key = k.key ORDER BY k.key
ON CONFLICT (key) DO UPDATE SET account = excluded.account, due = :now, attempts = 0, "first" = :now, parked = false, node = NULL;

-- owed_notices: Notices that nobody has claimed, in the order in which they are due.
SELECT r.key, coalesce(m.tail, i.tail), coalesce(m.account, i.account),
    CASE WHEN r.way = {Way.WEBHOOK} THEN coalesce(m.callback_url, a.inbound_url) ELSE '' END,
    r.attempts, r.problem, r."first", r.due
FROM callback_retry AS r LEFT JOIN message AS m ON m.key = {subject(r.key)}
LEFT JOIN inbound AS i ON i.key = r.key LEFT JOIN account AS a ON a.id = i.account
WHERE r.node IS NULL AND r.due IS NOT NULL AND (r.due, r.key) > (:due, :key)
ORDER BY r.due, r.key LIMIT :limit;

-- droppable: Keys of the given notices that nobody has claimed.
SELECT key FROM callback_retry WHERE key {among(keys)} AND node IS NULL AND due IS NOT NULL ORDER BY key FOR UPDATE;
