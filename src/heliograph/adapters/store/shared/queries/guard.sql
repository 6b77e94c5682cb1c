-- add_traffic: Adds to the traffic of an account to a range within an hour.
INSERT INTO traffic_hour (account, prefix, hour, messages, near, ended, failed)
VALUES (:account, :prefix, :hour, :messages, :near, :ended, :failed)
ON CONFLICT (account, prefix, hour) DO UPDATE SET
    messages = traffic_hour.messages + excluded.messages, near = traffic_hour.near + excluded.near,
    ended = traffic_hour.ended + excluded.ended, failed = traffic_hour.failed + excluded.failed;

-- traffic: The hours of an account's range from a time on.
SELECT hour, messages, near, ended, failed FROM traffic_hour
WHERE account = :account AND prefix = :prefix AND hour >= :since AND hour <= :hour ORDER BY hour;

-- forget_traffic: Deletes old hours.
DELETE FROM traffic_hour WHERE (account, prefix, hour) IN (
    SELECT account, prefix, hour FROM traffic_hour WHERE hour < :before ORDER BY hour LIMIT :limit
) RETURNING 1;

-- hold_traffic: Holds a range, or notes it as observed. No row if it is held or noted already, or was released since
-- `quiet`.
INSERT INTO traffic_hold (account, prefix, since, why, observed) VALUES (:account, :prefix, :since, :why, :observed)
ON CONFLICT (account, prefix) DO UPDATE SET
    since = excluded.since, why = excluded.why, ended = NULL, observed = excluded.observed
WHERE traffic_hold.ended < :quiet
   OR traffic_hold.ended IS NULL AND (traffic_hold.observed <> excluded.observed OR traffic_hold.observed AND traffic_hold.since < :quiet)
RETURNING 1;

-- traffic_holds: All holds.
SELECT account, prefix, since, why, observed FROM traffic_hold WHERE ended IS NULL ORDER BY account, prefix {bytewise};

-- is_held: Whether a range is held.
SELECT 1 FROM traffic_hold WHERE account = :account AND prefix = :prefix AND ended IS NULL AND NOT observed;

-- end_hold: Releases a range.
UPDATE traffic_hold SET ended = :now WHERE account = :account AND prefix = :prefix AND ended IS NULL RETURNING 1;

-- end_holds: Releases all ranges of an account.
UPDATE traffic_hold SET ended = :now WHERE account = :account AND ended IS NULL RETURNING 1;

-- held_number: Number and price of an account's held messages to a range, up to a limit.
SELECT count(*), CAST(coalesce(sum(m.price), 0) AS bigint) FROM (
    SELECT q.key FROM queue AS q
    WHERE q.held IN (:prefix, {OF_ADMINISTRATOR} || :prefix) AND q.node IS NULL AND q.account = :account
    LIMIT :limit
) AS held JOIN message AS m ON m.key = held.key;

-- held_messages: Held messages of an account to a range of which no part may have left. An attempt with the status 0 is
-- of an operator that took the message, and did not deliver it; one without an answer may have it.
SELECT q.key FROM queue AS q
WHERE q.held IN (:prefix, {OF_ADMINISTRATOR} || :prefix) AND q.node IS NULL AND q.account = :account
  AND NOT q.attempted AND NOT EXISTS (SELECT 1 FROM sent AS s WHERE s.key = q.key)
  AND NOT EXISTS (SELECT 1 FROM attempt AS t WHERE t.key = q.key AND t.status IN (0, {NO_ANSWER}))
ORDER BY q.key LIMIT :limit;

-- held_among: The rows among some that the guard holds, maybe beside an administrator.
SELECT key FROM queue WHERE held > {OF_ADMINISTRATOR} AND node IS NULL AND NOT attempted AND key {among(keys)};

-- let_go: Makes held messages due if their range is not held any more.
UPDATE queue SET due = :now, held = NULL WHERE node IS NULL AND held IS NOT NULL AND key IN (
    SELECT q.key FROM queue AS q
    WHERE q.held >= {FIRST_RANGE} AND q.node IS NULL AND NOT EXISTS (
        SELECT 1 FROM traffic_hold AS h
        WHERE h.account = q.account AND h.prefix = q.held {bytewise} AND h.ended IS NULL AND NOT h.observed
    ) LIMIT :limit
) RETURNING key;
