-- pending_page: Like listed_page, with scheduled messages. Each half is read in the order of its index, and the halves
-- are merged.
SELECT time, key FROM (
    (
        SELECT time, key FROM message WHERE account = :account AND state IN {LISTED} AND time >= :start AND time < :end
        ORDER BY time {up}, key {up}
    ) UNION ALL (
        SELECT time, key FROM message
        WHERE account = :account AND state = {State.SCHEDULED} AND time >= :start AND time < :end
        ORDER BY time {up}, key {up}
    )
) AS page ORDER BY time {up}, key {up} LIMIT :limit OFFSET :index;

-- admit_list: Notes a list query, unless the last list query was too recent.
INSERT INTO listing (account, at) VALUES (:account, :now)
ON CONFLICT (account) DO UPDATE SET at = :now WHERE abs(listing.at - :now) >= :interval OR listing.at = :unanswered
RETURNING 1;

-- last_list: The time at which the last list query was admitted.
SELECT at FROM listing WHERE account = :account;

-- lock_queued: Locks rows of the queue, in the order of claims.
SELECT 1 FROM queue WHERE key {among(keys)} ORDER BY key FOR UPDATE;

-- still_scheduled: Keys of the given messages in one of these states that are not due yet, locked.
SELECT key FROM message WHERE key {among(keys)} AND state {among(states)} AND time > :now
ORDER BY key FOR NO KEY UPDATE;

-- cancel_messages: Cancels messages that are still scheduled, in a single statement. Returns the keys.
SELECT cancel_messages(:account, :key, :tail, :states, :now);

-- reschedule_messages: Moves messages that are still scheduled, in a single statement. Returns the keys.
SELECT reschedule_messages(:account, :key, :tail, :states, :time, :expires, :now);

-- keep_replayed: Notes that a repeat gets the first answer, so that void_accepts keeps the request.
UPDATE reference SET replayed = true WHERE account = :account AND reference = :reference AND NOT replayed;
