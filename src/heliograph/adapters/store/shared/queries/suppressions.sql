-- add_suppression: Adds a suppression; no row if the number is suppressed already.
INSERT INTO suppression (account, digest, number, since, source)
VALUES (:account, {digest(number)}, :number, :since, :source) ON CONFLICT DO NOTHING RETURNING 1;

-- note_suppressed: Notes with an account whether it has suppressions.
UPDATE account SET suppressed = EXISTS (SELECT 1 FROM suppression AS s WHERE s.account = :account) WHERE id = :account;

-- waiting_for: An account's messages to a phone in the queue of which no part has left. An operator
-- with an attempt of the status 0 took the message and did not deliver it, or without an answer may have it: such a
-- message ends without a refund when it is claimed.
SELECT q.key FROM queue AS q
WHERE q.account = :account AND q.phone = :number AND q.node IS NULL AND NOT q.attempted
  AND NOT EXISTS (SELECT 1 FROM sent AS s WHERE s.key = q.key)
  AND NOT EXISTS (SELECT 1 FROM attempt AS t WHERE t.key = q.key AND t.status IN (0, {NO_ANSWER}))
  AND NOT EXISTS (SELECT 1 FROM inbound AS i WHERE i.replied = q.key AND i.replied <> 0)
ORDER BY q.key;

-- withdraw: Withdraws messages to recipients who opted out.
UPDATE message SET state = {after(Trigger.OPT_OUT)} WHERE key {among(keys)} AND state IN {before(Trigger.OPT_OUT)};

-- lift_suppression: Removes a suppression.
DELETE FROM suppression WHERE account = :account AND digest = {digest(number)} RETURNING 1;

-- suppression: The suppression of a number.
SELECT since, source FROM suppression WHERE account = :account AND digest = {digest(number)};

-- suppressions: The suppressions of an account with known numbers, by number.
SELECT number, since, source FROM suppression WHERE account = :account AND number > :after AND number <> ''
ORDER BY number LIMIT :limit;

-- suppressed_since: The suppressions since a time.
SELECT account, number, since FROM suppression WHERE since >= :since AND number <> '' ORDER BY since, number;

-- suppressed_among: Messages to suppressed numbers of which no part has left, without the gateway's own answers.
SELECT m.key FROM queue AS q JOIN message AS m ON m.key = q.key
JOIN account AS a ON a.id = m.account AND a.suppressed = {true}
JOIN suppression AS s ON s.account = m.account AND s.digest = {digest_of}
WHERE q.key {among(keys)} AND NOT q.attempted
  AND NOT EXISTS (SELECT 1 FROM sent AS t WHERE t.key = q.key)
  AND NOT EXISTS (SELECT 1 FROM inbound AS i WHERE i.replied = q.key AND i.replied <> 0);

-- replies_among: The gateway's own answers among messages.
SELECT i.replied FROM inbound AS i WHERE i.replied {among(keys)} AND i.replied <> 0;

-- suppressed_unsent: The same among messages of a fast lane, which have no row in the queue.
SELECT m.key FROM message AS m
JOIN account AS a ON a.id = m.account AND a.suppressed = {true}
JOIN suppression AS s ON s.account = m.account AND s.digest = {digest_of}
WHERE m.key {among(keys)}
  AND NOT EXISTS (SELECT 1 FROM sent AS t WHERE t.key = m.key)
  AND NOT EXISTS (SELECT 1 FROM inbound AS i WHERE i.replied = m.key AND i.replied <> 0);
