-- hit: A message with its final.
SELECT {hit} FROM message AS m LEFT JOIN final AS f ON f.key = m.key WHERE m.key = :key;

-- submissions_of: The submissions of a message's parts.
SELECT key, segment, connector, operator_id, status, at FROM sent WHERE key = :key ORDER BY at, segment;

-- attempts_of: The attempts at a message that ended nothing.
SELECT key, segment, connector, status, at, operator_id FROM attempt WHERE key = :key ORDER BY at, segment;

-- receipts_of: Receipts of a message, intermediate receipts included.
SELECT key, segment, state, err, at FROM progress WHERE key = :key
UNION ALL SELECT key, segment, state, err, at FROM part_receipt WHERE key = :key
ORDER BY at, segment;

-- final_of: The final of a message.
SELECT state, err, at FROM final WHERE key = :key;

-- feedback_of: The customer's word about a message.
SELECT delivered, at FROM feedback WHERE key = :key;

-- entries_of: The charges and refunds of a message, or of its batch.
SELECT key, account, kind, amount, message, at, note FROM ledger
WHERE account = :account AND key = :charged AND kind = {EntryKind.CHARGE}
UNION ALL
SELECT key, account, kind, amount, message, at, note FROM ledger WHERE message = :key AND kind = {EntryKind.REFUND};

-- queued_of: A message's row of the queue.
SELECT connector, due, node IS NOT NULL, held FROM queue WHERE key = :key;

-- held_of: The held messages among some.
SELECT key FROM queue WHERE key {among(keys)} AND held IS NOT NULL;

-- holds_of: The holds of a message.
SELECT began, ended, why FROM message_hold WHERE key = :key ORDER BY began;

-- moves_of: The reschedulings of a message.
SELECT at, was, time FROM moved WHERE key = :key ORDER BY at;

-- earning_messages: Messages with their charges, in the order of acceptance.
SELECT key, account, destination, network, price FROM message
WHERE key > :after AND key < :end ORDER BY key LIMIT :limit;

-- taken_segments: Segments that an operator took or may have taken, and whether they were delivered. Messages of a
-- single segment have no row for their part. A message that another operator tried again has segments at both.
SELECT t.key, t.connector, t.at, t.delivered FROM (
    SELECT s.key, s.connector, s.at, s.segment, CASE
        WHEN f.state = {Delivery.DELIVRD} OR p.state = {Delivery.DELIVRD} THEN 1 ELSE 0
    END AS delivered
    FROM sent AS s
    LEFT JOIN final AS f ON f.key = s.key
    LEFT JOIN part_receipt AS p ON p.key = s.key AND p.segment = s.segment
    WHERE s.key >= :first AND s.key <= :last AND s.status IN (0, {NO_ANSWER})
    UNION ALL
    SELECT a.key, a.connector, a.at, a.segment, 0 FROM attempt AS a
    WHERE a.key >= :first AND a.key <= :last AND a.status = 0
) AS t ORDER BY t.key, t.at, t.segment;

-- refunds_of_messages: Refunds of a range of messages.
SELECT message, amount FROM ledger WHERE kind = {EntryKind.REFUND} AND message >= :first AND message <= :last;

-- connector_names: The names of all connectors.
SELECT id, name FROM connector;

-- retry_of: An owed or kept notice.
SELECT attempts, problem, "first", due, node FROM callback_retry WHERE key = :key;

-- callback_of: The end of a notice.
SELECT "end", code, attempts, at FROM callback WHERE key = :key;

-- reached: The cursor where the search's effort ends, unless the rows end before.
SELECT time, key FROM ({rows}) AS found LIMIT 1 OFFSET :effort - 1;

-- rarity: Counts of an account's messages in the newest blocks: all, and of a connector (-1: any) and a sender ('':
-- any).
SELECT coalesce(sum(messages), 0), coalesce(sum(
    CASE WHEN (connector = :connector OR :connector = -1) AND (sender = :sender OR :sender = '') THEN messages ELSE 0 END
), 0)
FROM block_content
WHERE account = :account AND block > (SELECT max(block) FROM number_block) - :blocks;

-- rows_by_key: Messages in the order of acceptance. Rows in the order of keys have no time.
SELECT 0 AS time, key FROM message WHERE key >= :start AND key < :key ORDER BY key DESC;

-- rows_of_id: The message with an id, or the messages of the batch with it.
SELECT 0 AS time, key FROM message WHERE key = :id AND tail = :tail AND key + 0 >= :start AND key + 0 < :key
UNION ALL
SELECT 0 AS time, m.key FROM batch AS b CROSS JOIN message AS m
WHERE b.key = :id AND b.tail = :tail
  AND m.key > b.key AND m.key <= b.last_key AND m.batch = b.key AND m.key + 0 >= :start AND m.key + 0 < :key
ORDER BY key DESC;

-- rows_scheduled: Messages of a state, read from the index of the states that are not Sent.
SELECT 0 AS time, key FROM message
WHERE key >= :start AND key < :key AND state <> {State.SENT} AND state = {State.SCHEDULED} ORDER BY key DESC;

-- rows_cancelled: Cancelled messages, read from the index of the states that are not Sent.
SELECT 0 AS time, key FROM message
WHERE key >= :start AND key < :key AND state <> {State.SENT} AND state = {State.CANCELLED} ORDER BY key DESC;

-- rows_failed: Failed messages, read from the index of the states that are not Sent.
SELECT 0 AS time, key FROM message
WHERE key >= :start AND key < :key AND state <> {State.SENT} AND state = {State.FAILED} ORDER BY key DESC;

-- rows_undelivered: Messages that ended in another state than DELIVRD.
SELECT 0 AS time, key FROM final
WHERE key >= :start AND key < :key AND state <> {Delivery.DELIVRD} ORDER BY key DESC;

-- rows_held: Held messages.
SELECT 0 AS time, key FROM queue
WHERE held IS NOT NULL AND node IS NULL AND key >= :start AND key < :key ORDER BY key DESC;

-- rows_of_account_listed: Messages of an account by time of sending. Each index of an account has a part of them.
SELECT time, key FROM message
WHERE account = :account AND state IN {LISTED} AND time >= :start AND time <= :end AND (time < :end OR key < :key)
ORDER BY time DESC, key DESC;

-- rows_of_account_scheduled: Scheduled messages of an account, read like rows_of_account_listed.
SELECT time, key FROM message
WHERE account = :account AND state = {State.SCHEDULED} AND time >= :start AND time <= :end
  AND (time < :end OR key < :key)
ORDER BY time DESC, key DESC;

-- rows_of_account_cancelled: Cancelled messages of an account, read like rows_of_account_listed.
SELECT time, key FROM message
WHERE account = :account AND state = {State.CANCELLED} AND time >= :start AND time <= :end
  AND (time < :end OR key < :key)
ORDER BY time DESC, key DESC;
