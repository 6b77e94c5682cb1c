-- claim_due: Claims due rows of a connector, oldest first.
SELECT key, connector, attempted FROM claim_queue(:connector, :limit, :now, :node);

-- claim_of: Claims due rows of a connector, up to a limit for each account, oldest first.
SELECT key, connector, attempted FROM claim_queue_of(:connector, :accounts, :limit, :now, :node);

-- claim_expired: Claims rows of expired messages, of any connector.
SELECT key, connector, attempted FROM claim_queue(NULL, :limit, :now, :node);

-- claim: Needs no statement: claim_due and claim_of have claimed the rows.

-- become_sent: Needs no statement: claim_due and claim_of have changed the state.

-- next_due: The earliest due time of each connector's rows. Each is found by a jump in the index. A GROUP BY would read
-- the whole index.
WITH RECURSIVE waiting (connector) AS (
    (SELECT connector FROM queue WHERE node IS NULL AND held IS NULL ORDER BY connector LIMIT 1)
    UNION ALL
    SELECT (
        SELECT q.connector FROM queue AS q WHERE q.node IS NULL AND q.held IS NULL AND q.connector > w.connector
        ORDER BY q.connector LIMIT 1
    )
    FROM waiting AS w WHERE w.connector IS NOT NULL
)
SELECT connector, (
    SELECT q.due FROM queue AS q WHERE q.node IS NULL AND q.held IS NULL AND q.connector = w.connector ORDER BY q.due LIMIT 1
)
FROM waiting AS w WHERE connector IS NOT NULL;

-- queued_accounts: The accounts with due rows, found by jumps in the index.
SELECT unnest(queued_accounts(:connector, :now));

-- release_messages: Gives up a node's claims of messages.
UPDATE queue SET node = NULL WHERE key IN (SELECT key FROM queue WHERE node = :node ORDER BY key FOR UPDATE)
RETURNING 1;

-- release_notices: Gives up a node's claims of notices.
UPDATE callback_retry SET node = NULL
WHERE key IN (SELECT key FROM callback_retry WHERE node = :node ORDER BY key FOR UPDATE) RETURNING 1;
