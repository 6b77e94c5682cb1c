-- claim_due: Due rows of a connector, oldest first; `claim` claims them.
SELECT key, connector, attempted FROM queue WHERE node IS NULL AND held IS NULL AND connector = :connector AND due <= :now
ORDER BY due, key LIMIT :limit;

-- claim_of: Due rows of a connector, up to a limit for each account, oldest first.
SELECT q.key, q.connector, q.attempted FROM json_each(:accounts) AS a CROSS JOIN queue AS q ON q.key IN (
    SELECT key FROM queue WHERE node IS NULL AND held IS NULL AND connector = :connector AND account = a.value AND due <= :now
    ORDER BY due, key LIMIT :limit
) ORDER BY q.due, q.key;

-- claim_expired: Rows of expired messages, of any connector.
SELECT key, connector, attempted FROM queue WHERE node IS NULL AND expires <= :now ORDER BY expires, key LIMIT :limit;

-- claim: Gives rows to a node.
UPDATE queue SET node = :node WHERE key {among(keys)};

-- become_sent: Makes due messages Sent.
UPDATE message SET state = {after(Trigger.DUE)} WHERE state IN {before(Trigger.DUE)} AND key {among(keys)};

-- next_due: The earliest due time of each connector's rows. Each is found by a jump in the index. For a GROUP BY,
-- SQLite would read the whole index.
WITH RECURSIVE waiting (connector) AS (
    SELECT min(connector) FROM queue WHERE node IS NULL AND held IS NULL
    UNION ALL
    SELECT (SELECT min(connector) FROM queue WHERE node IS NULL AND held IS NULL AND connector > waiting.connector)
    FROM waiting WHERE waiting.connector IS NOT NULL
)
SELECT connector, (SELECT min(due) FROM queue WHERE node IS NULL AND held IS NULL AND connector = waiting.connector)
FROM waiting WHERE connector IS NOT NULL;

-- queued_accounts: The accounts with due rows, found by jumps in the index.
WITH RECURSIVE holder (account) AS (
    SELECT min(account) FROM queue WHERE node IS NULL AND held IS NULL AND connector = :connector
    UNION ALL
    SELECT (SELECT min(account) FROM queue WHERE node IS NULL AND held IS NULL AND connector = :connector AND account > holder.account)
    FROM holder WHERE holder.account IS NOT NULL
)
SELECT account FROM holder WHERE account IS NOT NULL AND EXISTS (
    SELECT 1 FROM queue WHERE node IS NULL AND held IS NULL AND connector = :connector AND account = holder.account AND due <= :now
);
