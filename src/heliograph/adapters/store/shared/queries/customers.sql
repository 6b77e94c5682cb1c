-- balance: The balance of an account.
SELECT balance FROM account WHERE id = :account;

-- allowance: The limits of an account on a day and on waiting messages, and their use.
SELECT daily_messages, daily_spend, max_waiting, used_until, used_messages, used_spend, used_waiting
FROM account WHERE id = :account;

-- waiting: Number of an account's messages in the queue.
SELECT count(*) FROM queue WHERE account = :account AND node IS NULL;

-- message: A message of an account.
SELECT {message} FROM message AS m WHERE m.key = :key AND m.account = :account AND m.tail = :tail;

-- tail: The tail of an account's message, or of its batch, with this key.
SELECT tail FROM message WHERE key = :key AND account = :account
UNION ALL SELECT tail FROM batch WHERE key = :key AND account = :account;

-- batch: The last key and the reference of an account's batch.
SELECT last_key, reference FROM batch WHERE key = :key AND account = :account AND tail = :tail;

-- batch_slice: Messages of a batch, in their order.
SELECT {message} FROM message AS m WHERE m.key > :key AND m.key <= :last_key AND m.batch = :key
ORDER BY m.key LIMIT :limit OFFSET :index;

-- first_use: The messages of the first request that used a reference, each with its request, and with its end if it
-- failed at no cost.
SELECT {message}, r.fingerprint, r.key, r.batch, r.scheduled, b.tail, b.total, f.at
FROM reference AS r
LEFT JOIN batch AS b ON r.batch AND b.key = r.key
JOIN message AS m ON m.key >= r.key AND m.key <= coalesce(b.last_key, r.key)
    AND m.batch = CASE WHEN r.batch THEN r.key ELSE 0 END
LEFT JOIN final AS f ON f.key = m.key AND m.state = {State.FAILED} AND m.price = 0
WHERE r.account = :account AND r.reference = :reference ORDER BY m.key;

-- listed_page: Times and keys of a page.
SELECT time, key FROM message WHERE account = :account AND state IN {LISTED} AND time >= :start AND time < :end
ORDER BY time {up}, key {up} LIMIT :limit OFFSET :index;

-- deliveries: The final states of messages, and held messages without a state.
SELECT key, state, err, at FROM final WHERE key {among(keys)} AND state IS NOT NULL
UNION ALL SELECT key, NULL, '', 0 FROM queue WHERE key {among(keys)} AND held IS NOT NULL;

-- message_key: The key, if there is such a message of the account.
SELECT key FROM message WHERE key = :key AND account = :account AND tail = :tail;

-- batch_keys: The keys of a batch's messages.
SELECT key FROM message WHERE key > :key AND key <= :last_key AND batch = :key;

-- lock_queued: Needs no statement, because SQLite has a single writer.

-- still_scheduled: Keys of the given messages in one of these states that are not due yet.
SELECT key FROM message WHERE key {among(keys)} AND state {among(states)} AND time > :now ORDER BY key;

-- dequeue: Takes messages out of the queue.
DELETE FROM queue WHERE key {among(keys)};

-- cancel: Cancels messages.
UPDATE message SET state = {after(Trigger.CANCEL)} WHERE key {among(keys)} AND state IN {before(Trigger.CANCEL)};

-- end_cancelled: Gives cancelled messages a final without a state.
INSERT INTO final (key, state, err, at, owed) SELECT key, NULL, '', :now, {false} FROM message WHERE key {among(keys)};

-- note_moves: Notes the old and the new time of messages; of each message only its first moves, up to a limit.
INSERT INTO moved (key, at, was, time)
SELECT m.key, :now, m.time, :time FROM message AS m
WHERE m.key {among(keys)} AND (SELECT count(*) FROM moved AS o WHERE o.key = m.key) < {MOST_MOVES}
ON CONFLICT (key, at) DO UPDATE SET time = excluded.time;

-- requeue: Gives rows of the queue another time.
UPDATE queue SET due = :time, expires = :expires WHERE key {among(keys)};

-- move: Gives messages another time.
UPDATE message SET time = :time, expires = :expires WHERE key {among(keys)};
