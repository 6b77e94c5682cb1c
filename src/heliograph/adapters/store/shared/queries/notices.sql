-- notices: Some owed notices, oldest due first.
SELECT {message}, f.state, f.err, f.at, r.attempts, r.body, r."first", r.way
FROM callback_retry AS r
JOIN final AS f ON f.key = r.key
JOIN message AS m ON m.key = r.key
WHERE r.key {among(keys)} AND f.state IS NOT NULL
ORDER BY r.due, r.key;

-- inbound_notices: Owed notices of inbound messages, oldest due first.
SELECT {inbound}, r.attempts, r.body, r."first", r.way
FROM callback_retry AS r JOIN inbound AS i ON i.key = r.key
WHERE r.key {among(keys)} ORDER BY r.due, r.key;

-- progress_notices: Owed notices of intermediate states, oldest due first.
SELECT {message}, p.state, p.err, p.at, r.attempts, r.body, r."first", r.way, r.key
FROM callback_retry AS r
JOIN message AS m ON m.key = {subject(r.key)}
JOIN progress AS p ON p.key = m.key AND p.state = CASE r.key % 2 WHEN 0 THEN {Delivery.ENROUTE} ELSE {Delivery.ACCEPTD} END
WHERE r.key {among(keys)} AND r.key < 0
ORDER BY r.due, r.key, p.at, p.segment;

-- balance_notices: Owed notices of low balances, oldest due first.
SELECT b.id, b.account, b.balance, b.threshold, b.at, r.attempts, r.body, r."first", r.way
FROM callback_retry AS r JOIN balance_notice AS b ON b.id = {LOW_BALANCE} - r.key
WHERE r.key {among(keys)} AND r.key < {LOW_BALANCE}
ORDER BY r.due, r.key;

-- next_notice_due: The earliest due time of an unclaimed notice.
SELECT min(due) FROM callback_retry WHERE node IS NULL AND due IS NOT NULL;

-- oldest_parked: When the first parked notice of each of some accounts was first owed; NULL for an account without any.
SELECT (
    SELECT "first" FROM callback_retry
    WHERE {parked} AND node IS NULL AND due IS NOT NULL AND way = :way AND account = a.id ORDER BY due LIMIT 1
) FROM account AS a WHERE a.id {among(accounts)};

-- accounts_with_notices: Accounts with unclaimed notices, with the earliest due time of each. Each is found by a jump
-- in the index, independent of its number of notices.
WITH RECURSIVE holder (account) AS (
    SELECT min(account) FROM callback_retry WHERE node IS NULL AND due IS NOT NULL AND account > :beyond
    UNION ALL
    SELECT (
        SELECT min(account) FROM callback_retry WHERE node IS NULL AND due IS NOT NULL AND account > holder.account
    ) FROM holder WHERE holder.account IS NOT NULL
)
SELECT account,
    (SELECT min(due) FROM callback_retry WHERE node IS NULL AND due IS NOT NULL AND account = holder.account)
FROM holder WHERE account IS NOT NULL LIMIT :limit;

-- failing_receivers: Accounts with a webhook that failed :often times, or with :many that failed, and their number up to
-- :many. Each account is found by a jump in the index of failed webhooks.
WITH RECURSIVE holder (account) AS (
    SELECT min(account) FROM callback_retry WHERE way = {Way.WEBHOOK} AND attempts > 0 AND due IS NOT NULL
    UNION ALL
    SELECT (
        SELECT min(account) FROM callback_retry
        WHERE way = {Way.WEBHOOK} AND attempts > 0 AND due IS NOT NULL AND account > holder.account
    ) FROM holder WHERE holder.account IS NOT NULL
),
failing (account, attempts, pending) AS (
    SELECT account,
        (SELECT max(attempts) FROM callback_retry
            WHERE way = {Way.WEBHOOK} AND attempts > 0 AND due IS NOT NULL AND account = holder.account),
        (SELECT count(*) FROM (
            SELECT 1 FROM callback_retry
            WHERE way = {Way.WEBHOOK} AND attempts > 0 AND due IS NOT NULL AND account = holder.account LIMIT :many
        ) AS counted)
    FROM holder WHERE account IS NOT NULL
)
SELECT (SELECT name FROM account WHERE id = failing.account), pending
FROM failing WHERE attempts >= :often OR pending >= :many LIMIT :limit;

-- undo_ends: Deletes the ends of some notices, because they are owed again.
DELETE FROM callback WHERE key {among(keys)};

-- owed_notices: Unclaimed notices, by due time.
SELECT r.key, coalesce(m.tail, i.tail, 0), r.account,
    CASE WHEN r.way = {Way.WEBHOOK}
        THEN coalesce(m.callback_url, CASE WHEN b.id IS NULL THEN a.inbound_url ELSE a.callback_url END) ELSE '' END,
    r.attempts, r.problem, r."first", r.due
FROM callback_retry AS r LEFT JOIN message AS m ON m.key = {subject(r.key)}
LEFT JOIN inbound AS i ON i.key = r.key LEFT JOIN balance_notice AS b ON b.id = {LOW_BALANCE} - r.key
LEFT JOIN account AS a ON a.id = r.account
WHERE r.node IS NULL AND r.due IS NOT NULL AND r.due >= :due AND (r.due > :due OR r.key > :key)
ORDER BY r.due, r.key LIMIT :limit;

-- owed_notices_of: Unclaimed notices of an account, by due time.
SELECT r.key, coalesce(m.tail, i.tail, 0), r.account,
    CASE WHEN r.way = {Way.WEBHOOK}
        THEN coalesce(m.callback_url, CASE WHEN b.id IS NULL THEN a.inbound_url ELSE a.callback_url END) ELSE '' END,
    r.attempts, r.problem, r."first", r.due
FROM callback_retry AS r LEFT JOIN message AS m ON m.key = {subject(r.key)}
LEFT JOIN inbound AS i ON i.key = r.key LEFT JOIN balance_notice AS b ON b.id = {LOW_BALANCE} - r.key
LEFT JOIN account AS a ON a.id = r.account
WHERE r.account = :account AND r.node IS NULL AND r.due IS NOT NULL AND r.due >= :due
  AND (r.due > :due OR r.key > :key)
ORDER BY r.due, r.key LIMIT :limit;

-- ended_notices: Notices that were given up, or got a 410, newest message first.
SELECT c.key, coalesce(m.tail, i.tail, 0), coalesce(m.account, i.account, b.account),
    CASE WHEN coalesce(m.way, i.way, {Way.WEBHOOK}) = {Way.WEBHOOK}
        THEN coalesce(m.callback_url, CASE WHEN b.id IS NULL THEN a.inbound_url ELSE a.callback_url END) ELSE '' END, c.attempts,
    coalesce(r.problem, ''), coalesce(r."first", f.at, i.at, c.at), c."end", c.code, c.at
FROM callback AS c LEFT JOIN message AS m ON m.key = {subject(c.key)}
LEFT JOIN inbound AS i ON i.key = c.key LEFT JOIN balance_notice AS b ON b.id = {LOW_BALANCE} - c.key
LEFT JOIN account AS a ON a.id = coalesce(i.account, b.account)
LEFT JOIN callback_retry AS r ON r.key = c.key
LEFT JOIN final AS f ON f.key = c.key
WHERE c."end" <> {CallbackEnd.DELIVERED} AND c.key < :before
ORDER BY c.key DESC LIMIT :limit;

-- give_up: Ends some notices, as given up.
INSERT INTO callback (key, "end", code, attempts, at)
SELECT key, {CallbackEnd.FAILED}, 0, attempts, :now FROM callback_retry WHERE key {among(keys)}
ON CONFLICT DO NOTHING;

-- keep_without_due: Clears the due time of ended notices. Their bodies are kept for a replay.
UPDATE callback_retry SET due = NULL WHERE key {among(keys)};
