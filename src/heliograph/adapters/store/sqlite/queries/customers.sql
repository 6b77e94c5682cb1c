-- pending_page: Like listed_page, with scheduled messages. Each half is read in the order of its index, and the halves
-- are merged.
SELECT time, key FROM message WHERE account = :account AND state IN {LISTED} AND time >= :start AND time < :end
UNION ALL
SELECT time, key FROM message
WHERE account = :account AND state = {State.SCHEDULED} AND time >= :start AND time < :end
ORDER BY time {up}, key {up} LIMIT :limit OFFSET :index;

-- admit_list: Notes a list query, unless the last list query was too recent.
UPDATE account SET last_list = :now
WHERE id = :account AND (last_list IS :unanswered OR last_list IS NULL OR abs(last_list - :now) >= :interval) RETURNING 1;

-- last_list: The time at which the last list query was admitted.
SELECT last_list FROM account WHERE id = :account;
