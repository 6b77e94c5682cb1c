-- pending_page_up: As page_up, with scheduled messages. Each half is read in the order of its index, and they are merged.
SELECT time, key FROM (
    (
        SELECT time, key FROM message WHERE account = :account AND state IN {LISTED} AND time >= :start AND time < :end
        ORDER BY time, key
    ) UNION ALL (
        SELECT time, key FROM message
        WHERE account = :account AND state = {State.SCHEDULED} AND time >= :start AND time < :end
        ORDER BY time, key
    )
) AS page ORDER BY time, key LIMIT :limit OFFSET :index;

-- pending_page_down: A page like page_down, with scheduled messages.
SELECT time, key FROM (
    (
        SELECT time, key FROM message WHERE account = :account AND state IN {LISTED} AND time >= :start AND time < :end
        ORDER BY time DESC, key DESC
    ) UNION ALL (
        SELECT time, key FROM message
        WHERE account = :account AND state = {State.SCHEDULED} AND time >= :start AND time < :end
        ORDER BY time DESC, key DESC
    )
) AS page ORDER BY time DESC, key DESC LIMIT :limit OFFSET :index;

-- admit_list: Remembers a list query, unless the last one was a short while ago.
INSERT INTO listing (account, at) VALUES (:account, :now)
ON CONFLICT (account) DO UPDATE SET at = :now WHERE abs(listing.at - :now) >= :interval OR listing.at = :unanswered
RETURNING 1;

-- last_list: The time at which the last list query was admitted.
SELECT at FROM listing WHERE account = :account;

-- lock_queued: Locks rows of the queue, in the order in which claims do it.
SELECT 1 FROM queue WHERE key {among(keys)} ORDER BY key FOR UPDATE;

-- still_scheduled: Keys of the given messages that are in one of these states and not due yet, locked.
SELECT key FROM message WHERE key {among(keys)} AND state {among(states)} AND time > :now
ORDER BY key FOR NO KEY UPDATE;

-- cancel_messages: Cancels what is still scheduled, in one statement, and returns the keys.
SELECT cancel_messages(:account, :key, :tail, :states, :now);

-- reschedule_messages: Moves what is still scheduled, in one statement, and returns the keys.
SELECT reschedule_messages(:account, :key, :tail, :states, :time, :expires, :now);
