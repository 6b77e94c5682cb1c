-- messages: The messages with these keys, in any order.
SELECT {message} FROM message AS m WHERE m.key {among(keys)};

-- answers: The operators' answers to parts of some messages.
SELECT key, segment, status FROM sent WHERE key {among(keys)};

-- tried_among: The connectors that tried some messages without an end, whether the operator took them, whether an
-- answer is missing, and whether the operator has other parts of them.
SELECT key, connector, max(CASE status WHEN 0 THEN 1 ELSE 0 END), max(CASE status WHEN {NO_ANSWER} THEN 1 ELSE 0 END),
    EXISTS (SELECT 1 FROM sent AS s WHERE s.key = a.key AND s.connector = a.connector AND s.status = 0)
FROM attempt AS a WHERE key {among(keys)} GROUP BY key, connector;

-- release_messages: Gives up a node's claims of messages.
UPDATE queue SET node = NULL WHERE node = :node RETURNING 1;

-- released_among: The times at which the last hold of some messages ended.
SELECT key, max(ended) FROM message_hold WHERE key {among(keys)} AND ended IS NOT NULL GROUP BY key;

-- end_message_holds: Notes the end of the holds of some messages.
UPDATE message_hold SET ended = :now WHERE key {among(keys)} AND ended IS NULL;

-- release_parts: Gives up a node's claims of parts of inbound messages.
UPDATE inbound_part SET node = NULL WHERE node = :node RETURNING 1;

-- release_notices: Gives up a node's claims of notices.
UPDATE callback_retry SET node = NULL WHERE node = :node RETURNING 1;

-- resumed_messages: Messages held for a suspension, of accounts that are not suspended any more. The accounts are found
-- by jumps in the index.
WITH RECURSIVE holder (account) AS (
    SELECT min(account) FROM queue WHERE held = {OF_SUSPENDED} AND node IS NULL
    UNION ALL
    SELECT (SELECT min(account) FROM queue WHERE held = {OF_SUSPENDED} AND node IS NULL AND account > holder.account)
    FROM holder WHERE holder.account IS NOT NULL
)
SELECT q.key FROM holder AS h
JOIN account AS a ON a.id = h.account AND NOT a.suspended
JOIN queue AS q ON q.account = h.account
WHERE q.held = {OF_SUSPENDED} AND q.node IS NULL
ORDER BY q.key LIMIT :limit;

-- untried_rows: Due rows of a connector without an attempt, oldest first.
SELECT q.key, q.account, q.phone, m.sender, m.price, m.segments, m.network FROM queue AS q JOIN message AS m ON m.key = q.key
WHERE q.node IS NULL AND q.held IS NULL AND q.connector = :connector AND q.due <= :now AND NOT q.attempted
  AND NOT EXISTS (SELECT 1 FROM sent AS s WHERE s.key = q.key)
  AND NOT EXISTS (SELECT 1 FROM attempt AS a WHERE a.key = q.key)
ORDER BY q.due, q.key LIMIT :limit;

-- move_untried: Gives rows of `untried_rows` to another connector.
UPDATE queue SET connector = :instead
WHERE connector = :connector AND node IS NULL AND held IS NULL AND NOT attempted AND key {among(keys)}
RETURNING 1;

-- resume_messages: Makes messages due that were held for a suspension.
UPDATE queue SET due = :now, held = NULL WHERE held = {OF_SUSPENDED} AND node IS NULL AND key {among(keys)} RETURNING 1;
