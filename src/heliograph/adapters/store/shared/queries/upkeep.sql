-- last_block: The newest block of numbers, and its last key.
SELECT block, last_key FROM number_block ORDER BY block DESC LIMIT 1;

-- end_of_block: The last key of the next block.
SELECT key FROM message WHERE key > :beyond AND key < :before ORDER BY key LIMIT 1 OFFSET :rest;

-- add_block: Adds a block; no row if it exists.
INSERT INTO number_block (block, first_key, last_key) VALUES (:block, :first, :last) ON CONFLICT DO NOTHING RETURNING 1;

-- fill_block: Sorts the messages of a block by number.
INSERT INTO message_number (block, number, key)
SELECT :block, destination, key FROM message WHERE key >= :first AND key <= :last
ORDER BY destination {bytewise}, key;

-- fill_content: Notes the accounts, connectors and senders of a block, each with its number of messages, the first and
-- the last. A message that another connector sent counts for both.
INSERT INTO block_content (block, account, connector, sender, first_key, last_key, messages)
SELECT :block, account, connector, sender, min(key), max(key), count(*) FROM (
    SELECT account, connector, lower(sender) AS sender, key FROM message WHERE key >= :first AND key <= :last
    UNION ALL
    SELECT m.account, s.connector, lower(m.sender), m.key FROM sent AS s CROSS JOIN message AS m
    WHERE s.key >= :first AND s.key <= :last AND s.segment = 0 AND m.key = s.key AND m.connector <> s.connector
) AS found GROUP BY account, connector, sender;

-- backlog: Scheduled messages, rows of the queue, owed and failed callbacks, orphans, awaited parts.
SELECT
    (SELECT count(*) FROM message WHERE state = {State.SCHEDULED}),
    (SELECT count(*) FROM queue),
    (SELECT count(*) FROM callback_retry WHERE due IS NOT NULL),
    (SELECT count(*) FROM callback WHERE "end" <> {CallbackEnd.DELIVERED}),
    (SELECT count(*) FROM early),
    (SELECT count(*) FROM awaiting);

-- counts: Counts of waiting rows, each up to a limit: scheduled, due (with the earliest time), awaited, owed, ended,
-- orphans.
SELECT
    (SELECT count(*) FROM (SELECT 1 FROM message WHERE state = {State.SCHEDULED} LIMIT :most) AS counted),
    (SELECT count(*) FROM (SELECT 1 FROM queue WHERE node IS NULL AND held IS NULL AND due <= :now LIMIT :most) AS counted),
    (SELECT min(due) FROM queue WHERE node IS NULL AND held IS NULL AND due <= :now),
    (SELECT count(*) FROM (SELECT 1 FROM awaiting LIMIT :most) AS counted),
    (SELECT count(*) FROM (SELECT 1 FROM callback_retry WHERE due IS NOT NULL LIMIT :most) AS counted),
    (SELECT count(*) FROM (SELECT 1 FROM callback WHERE "end" <> {CallbackEnd.DELIVERED} LIMIT :most) AS counted),
    (SELECT count(*) FROM (SELECT 1 FROM early LIMIT :most) AS counted);

-- deferred: Count of deferred messages by connector.
SELECT connector, count(*) FROM (
    SELECT connector FROM queue WHERE {put_off} AND node IS NULL AND held IS NULL AND due > :now LIMIT :most
) AS later GROUP BY connector;

-- held: Counts of held messages, each up to a limit: by an administrator, by the pumping
-- guard, of suspended accounts.
SELECT
    (SELECT count(*) FROM (
        SELECT 1 FROM queue WHERE held >= {OF_ADMINISTRATOR} AND held < {FIRST_RANGE} AND node IS NULL LIMIT :most
    ) AS counted),
    (SELECT count(*) FROM (SELECT 1 FROM queue WHERE held >= {FIRST_RANGE} AND node IS NULL LIMIT :most) AS counted),
    (SELECT count(*) FROM (SELECT 1 FROM queue WHERE held = {OF_SUSPENDED} AND node IS NULL LIMIT :most) AS counted);

-- ended_unknown: Number of messages from a key on that ended as UNKNOWN. The first condition on the state selects the
-- index.
SELECT count(*) FROM final WHERE key >= :since AND state <> {Delivery.DELIVRD} AND state = {Delivery.UNKNOWN};

-- newest: The newest key, and the newest time of each kind of event. Reads whole tables.
SELECT
    (SELECT max(key) FROM (SELECT max(key) AS key FROM message UNION ALL SELECT max(key) FROM inbound) AS newest),
    (SELECT max(at) FROM ledger), (SELECT max(at) FROM sent),
    (SELECT max(at) FROM final), (SELECT max(at) FROM callback), (SELECT max(at) FROM moved);

-- reach: Counts of messages that are scheduled, not completely sent, or await a receipt, and of owed callbacks. Reads
-- whole tables.
SELECT
    (SELECT count(*) FROM message WHERE state = {State.SCHEDULED}),
    (
        SELECT count(*) FROM message AS m
        WHERE m.state = {State.SENT} AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = m.key)
          AND (SELECT count(*) FROM sent AS s WHERE s.key = m.key) < m.segments
    ),
    (
        SELECT count(*) FROM message AS m
        WHERE m.state = {State.SENT} AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = m.key)
          AND (SELECT count(*) FROM sent AS s WHERE s.key = m.key) >= m.segments AND m.wants_receipt
    ),
    (
        SELECT count(*) FROM final AS f
        WHERE f.owed AND f.state IS NOT NULL AND NOT EXISTS (SELECT 1 FROM callback AS c WHERE c.key = f.key)
    ) + (
        SELECT count(*) FROM inbound AS i
        WHERE i.way <> {Way.NONE} AND NOT EXISTS (SELECT 1 FROM callback AS c WHERE c.key = i.key)
    );

-- told_worries: The worries that people were told about.
SELECT topic, subject, problem, since FROM told_worry ORDER BY topic {bytewise}, subject {bytewise};

-- forget_told: Forgets all of them.
DELETE FROM told_worry;

-- keep_told: Keeps a worry that people were told about.
INSERT INTO told_worry (topic, subject, problem, since) VALUES (:topic, :subject, :problem, :since);
