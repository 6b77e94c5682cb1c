-- Retention redacts and drops old messages, a few hundred a transaction, in the order of indexes that other queries
-- need anyway. `settled` messages have no pending send, receipt or notice.

-- retention_cursor: The cursor of an account and a stage; made if missing, and locked.
INSERT INTO retention (account, stage, inbound, time, key) VALUES (:account, :stage, :inbound, -1, -1)
ON CONFLICT (account, stage, inbound) DO UPDATE SET key = retention.key RETURNING time, key;

-- retention_reached: Moves the cursor.
UPDATE retention SET time = :time, key = :key WHERE account = :account AND stage = :stage AND inbound = :inbound;

-- messages_beyond: Messages of an account behind the cursor and before a time. Each part is read in the order of its
-- index and has its own end, because millions of rows may be behind it.
SELECT time, key FROM (
    SELECT time, key FROM message
    WHERE account = :account AND state IN {LISTED} AND (time, key) > (:time, :key) AND time < :before
    ORDER BY time, key LIMIT :limit
) AS listed
UNION ALL
SELECT time, key FROM (
    SELECT time, key FROM message
    WHERE account = :account AND state = {State.SCHEDULED} AND (time, key) > (:time, :key) AND time < :before
    ORDER BY time, key LIMIT :limit
) AS scheduled
UNION ALL
SELECT time, key FROM (
    SELECT time, key FROM message
    WHERE account = :account AND state = {State.CANCELLED} AND (time, key) > (:time, :key) AND time < :before
    ORDER BY time, key LIMIT :limit
) AS cancelled
ORDER BY time, key LIMIT :limit;

-- inbound_beyond: Inbound messages of an account behind a key and up to another.
SELECT 0 AS time, key FROM inbound WHERE account = :account AND key > :key AND key < :before ORDER BY key LIMIT :limit;

-- settled_messages: The settled messages among these.
SELECT m.key FROM message AS m
WHERE m.key {among(keys)}
  AND NOT EXISTS (SELECT 1 FROM queue AS q WHERE q.key = m.key)
  AND NOT EXISTS (
    SELECT 1 FROM callback_retry AS r WHERE r.key IN (m.key, -2 * m.key, -2 * m.key - 1) AND r.due IS NOT NULL
  )
  AND CASE WHEN EXISTS (SELECT 1 FROM final AS f WHERE f.key = m.key)
    THEN NOT EXISTS (
        SELECT 1 FROM final AS f WHERE f.key = m.key AND f.owed AND f.state IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM callback AS c WHERE c.key = m.key)
    )
    ELSE NOT m.wants_receipt AND m.state = {State.SENT}
      AND (SELECT count(*) FROM sent AS s WHERE s.key = m.key) >= m.segments
    END
ORDER BY m.key;

-- settled_inbound: The settled inbound messages among these.
SELECT i.key FROM inbound AS i
WHERE i.key {among(keys)}
  AND NOT EXISTS (SELECT 1 FROM callback_retry AS r WHERE r.key = i.key AND r.due IS NOT NULL)
  AND (i.way = {Way.NONE} OR EXISTS (SELECT 1 FROM callback AS c WHERE c.key = i.key))
  AND NOT EXISTS (SELECT 1 FROM inbound_unanswered AS u WHERE u.key = i.key)
ORDER BY i.key;

-- eventful: The keys of messages and notices with an event since a time.
SELECT f.key FROM final AS f WHERE f.key {among(keys)} AND f.at >= :quiet
UNION ALL SELECT s.key FROM sent AS s WHERE s.key {among(keys)} AND s.at >= :quiet
UNION ALL SELECT p.key FROM part_receipt AS p WHERE p.key {among(keys)} AND p.at >= :quiet
UNION ALL SELECT g.key FROM progress AS g WHERE g.key {among(keys)} AND g.at >= :quiet
UNION ALL SELECT c.key FROM callback AS c WHERE c.key {among(keys)} AND c.at >= :quiet;

-- last_positions: The last inbound message of each account among these. The position of the next message follows it.
SELECT i.key FROM inbound AS i
WHERE i.key {among(keys)} AND i.position = (SELECT max(o.position) FROM inbound AS o WHERE o.account = i.account);

-- keep_for_later: Notes a message with pending work.
INSERT INTO retention_kept (account, stage, key) VALUES (:account, :stage, :key) ON CONFLICT DO NOTHING;

-- lock_inbound_cursors: Waits for retention of an account's inbound messages, and locks it out.
SELECT 1 FROM retention WHERE account = :account AND inbound = {true} ORDER BY stage {for_update};

-- keep_routed: Notes an inbound message that an account got later, for the stages with a cursor beyond it.
INSERT INTO retention_kept (account, stage, key)
SELECT account, stage, CAST(:key AS bigint) FROM retention WHERE account = :account AND inbound = {true} AND key > :key
ON CONFLICT DO NOTHING;

-- kept_for_later: The noted messages.
SELECT key FROM retention_kept WHERE account = :account AND stage = :stage AND key > :beyond ORDER BY key LIMIT :limit;

-- forget_kept: Deletes notes of finished messages.
DELETE FROM retention_kept WHERE account = :account AND stage = :stage AND key {among(keys)};

-- keys_among: The keys among these that belong to outbound or inbound messages.
SELECT m.key FROM message AS m WHERE m.key {among(keys)}
UNION ALL SELECT i.key FROM inbound AS i WHERE i.key {among(keys)};

-- accounts_kept: The accounts with notes for a stage.
SELECT DISTINCT account FROM retention_kept WHERE stage = :stage ORDER BY account;

-- redact_texts: Empties the texts of messages.
UPDATE message SET content = '', extras = '' WHERE key {among(keys)} AND (content <> '' OR extras <> '');

-- forget_fingerprints: Empties the fingerprints of requests, because a fingerprint confirms a guessed text. The
-- references stay taken.
UPDATE reference SET fingerprint = {no_octets} WHERE (account, reference) IN (
    SELECT m.account, m.reference FROM message AS m WHERE m.key {among(keys)} AND m.reference <> ''
);

-- forget_bodies: Deletes the bodies of callbacks that ended undelivered.
DELETE FROM callback_retry WHERE due IS NULL AND key {among(keys)};

-- redact_numbers: Empties the destinations of messages, and the URLs of their callbacks, which may contain them.
UPDATE message SET destination = '', callback_url = '' WHERE key {among(keys)};

-- forget_sorted: Takes messages out of the blocks of numbers.
DELETE FROM message_number WHERE (block, number, key) IN (
    SELECT (SELECT b.block FROM number_block AS b WHERE b.last_key >= m.key ORDER BY b.last_key LIMIT 1),
        m.destination, m.key
    FROM message AS m WHERE m.key {among(keys)} AND m.destination <> ''
);

-- forget_empty_contents: Deletes the contents of the blocks that drop_empty_blocks then deletes.
DELETE FROM block_content WHERE block IN (
    SELECT e.block FROM number_block AS e
    WHERE e.last_key >= :first AND e.first_key <= :last AND e.block < (SELECT max(b.block) FROM number_block AS b)
      AND NOT EXISTS (SELECT 1 FROM message AS m WHERE m.key >= e.first_key AND m.key <= e.last_key)
);

-- drop_empty_blocks: Deletes the blocks without messages between two keys, except the newest. Messages without a number
-- still have their contents in a block, by which searches find them.
DELETE FROM number_block
WHERE last_key >= :first AND first_key <= :last AND block < (SELECT max(b.block) FROM number_block AS b)
  AND NOT EXISTS (SELECT 1 FROM message AS m WHERE m.key >= first_key AND m.key <= last_key);

-- redact_inbound_texts: Empties the texts of inbound messages.
UPDATE inbound SET content = '', octets = {no_octets}, coding = {REDACTED_CODING}, problem = '' WHERE key {among(keys)};

-- redact_inbound_numbers: Empties the senders of inbound messages.
UPDATE inbound SET sender = '' WHERE key {among(keys)};

-- forget_parts_of: Deletes the parts that inbound messages were joined from.
DELETE FROM inbound_part WHERE joined <> 0 AND joined {among(keys)};

-- charged_among: Number and total price of the separately charged messages among these.
SELECT count(*), CAST(coalesce(sum(m.price), 0) AS bigint), max(m.key) FROM message AS m
WHERE m.key {among(keys)} AND m.batch = 0 AND m.price <> 0;

-- refunded_among: Number and total price of the refunded messages among these.
SELECT count(*), CAST(coalesce(sum(m.price), 0) AS bigint), max(m.key) FROM message AS m
WHERE m.key {among(keys)} AND m.state IN {ENDED} AND m.price <> 0;

-- inbound_charged: Number and total price of the charged inbound messages among these.
SELECT count(*), CAST(coalesce(sum(i.price), 0) AS bigint), max(i.key) FROM inbound AS i
WHERE i.key {among(keys)} AND i.price <> 0;

-- add_dropped: Adds to the sums of charges or refunds of an account's dropped messages.
INSERT INTO dropped_money (account, kind, entries, amount, last_key) VALUES (:account, :kind, :entries, :amount, :last_key)
ON CONFLICT (account, kind) DO UPDATE SET
    entries = dropped_money.entries + excluded.entries, amount = dropped_money.amount + excluded.amount,
    last_key = CASE WHEN excluded.last_key > dropped_money.last_key THEN excluded.last_key ELSE dropped_money.last_key END;

-- batches_of: The batches that messages belong to.
SELECT DISTINCT m.batch FROM message AS m WHERE m.key {among(keys)} AND m.batch <> 0 ORDER BY m.batch;

-- note_dropped: Adds the prices of dropped messages to their batches.
UPDATE batch SET dropped = dropped + coalesce((
    SELECT CAST(sum(m.price) AS bigint) FROM message AS m WHERE m.key {among(keys)} AND m.batch = batch.key
), 0) WHERE key {among(batches)};

-- empty_batches: The batches without messages among these, and their prices.
SELECT b.key, b.dropped FROM batch AS b
WHERE b.key {among(batches)}
  AND NOT EXISTS (SELECT 1 FROM message AS m WHERE m.key > b.key AND m.key <= b.last_key AND m.batch = b.key)
ORDER BY b.key;

-- drop_batches: Deletes batches.
DELETE FROM batch WHERE key {among(batches)};

-- drop_references_of_batches: Deletes the references of batches: the customer may use them again.
DELETE FROM reference WHERE account = :account AND reference IN (
    SELECT b.reference FROM batch AS b WHERE b.key {among(batches)} AND b.reference IS NOT NULL
);

-- drop_references: Deletes the references of messages.
DELETE FROM reference WHERE (account, reference) IN (
    SELECT m.account, m.reference FROM message AS m WHERE m.key {among(keys)} AND m.reference <> '' AND m.batch = 0
);

-- drop_submissions: Deletes the references that the SMPP server made for messages, because a digest confirms a guessed
-- text.
DELETE FROM reference WHERE key {among(keys)} AND substr(reference, 1, 5) = 'smpp:';

-- drop_sent: Deletes the submissions of messages.
DELETE FROM sent WHERE key {among(keys)};

-- drop_attempts: Deletes the attempts at messages.
DELETE FROM attempt WHERE key {among(keys)};

-- drop_part_receipts: Deletes the final receipts of messages' parts.
DELETE FROM part_receipt WHERE key {among(keys)};

-- drop_progress: Deletes the other receipts of messages' parts.
DELETE FROM progress WHERE key {among(keys)};

-- drop_feedback: Deletes the words of customers about messages.
DELETE FROM feedback WHERE key {among(keys)};

-- drop_awaiting: Deletes awaited receipts of messages that ended without them.
DELETE FROM awaiting WHERE key {among(keys)};

-- drop_moves: Deletes the reschedulings of messages.
DELETE FROM moved WHERE key {among(keys)};

-- drop_holds: Deletes the holds of messages.
DELETE FROM message_hold WHERE key {among(keys)};

-- drop_finals: Deletes the ends of messages.
DELETE FROM final WHERE key {among(keys)};

-- drop_callbacks: Deletes the ends of notices.
DELETE FROM callback WHERE key {among(keys)};

-- drop_messages: Deletes messages.
DELETE FROM message WHERE key {among(keys)};

-- drop_inbound: Deletes inbound messages.
DELETE FROM inbound WHERE key {among(keys)};

-- forget_suppressed: Erases numbers that an account suppressed before a time; their digests stay in force.
UPDATE suppression SET number = '' WHERE account = :account AND digest IN (
    SELECT s.digest FROM suppression AS s WHERE s.account = :account AND s.number <> '' AND s.since < :before LIMIT :limit
) RETURNING 1;

-- drop_lists: Deletes sending lists without a message left and without a report since a time.
DELETE FROM sending_list WHERE id IN (
    SELECT l.id FROM sending_list AS l
    WHERE l.account = :account AND l.reported < :before AND NOT EXISTS (
        SELECT 1 FROM reference AS r WHERE r.account = l.account
          AND r.reference >= 'sending-list-' || l.id || '-' AND r.reference < 'sending-list-' || l.id || ':'
    )
    ORDER BY l.id LIMIT :limit
) RETURNING 1;

-- forget_list_problems: Empties the reasons why rows of an account's sending lists were refused before a time.
UPDATE sending_list SET problem = '' WHERE account = :account AND reported < :before AND problem <> '';

-- old_balance_notices: Notices of low balances that ended before a time, or that nobody was told of.
SELECT b.id FROM balance_notice AS b
WHERE b.account = :account AND b.at < :before
  AND (b.way = {Way.NONE} OR EXISTS (SELECT 1 FROM callback AS c WHERE c.key = {LOW_BALANCE} - b.id AND c.at < :before))
ORDER BY b.at LIMIT :limit;

-- drop_balance_notices: Deletes notices of low balances, unless they were made owed again.
DELETE FROM balance_notice WHERE id {among(ids)} AND NOT EXISTS (
    SELECT 1 FROM callback_retry AS r WHERE r.key = {LOW_BALANCE} - balance_notice.id AND r.due IS NOT NULL
) RETURNING 1;

-- forget_refused_of: Deletes an account's refused requests from before a time.
DELETE FROM refused_request WHERE account = :account AND at < :before RETURNING 1;
