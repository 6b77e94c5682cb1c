-- backlog_stretch: The last key of a stretch of the queue, and the number of its rows.
SELECT max(key), count(*) FROM (SELECT key FROM queue WHERE key > :after ORDER BY key LIMIT :limit) AS stretch;

-- backlog_groups: Numbers of waiting messages in a stretch, by connector, account, first digits and network. With the
-- plus, SQLite looks up the messages of the queue, and does not go through all messages with keys in the stretch.
SELECT
    q.connector, q.account, substr(q.phone, 1, {HEAD}), m.network, count(*), count(q.held),
    count(CASE WHEN q.held >= {OF_ADMINISTRATOR} AND q.held < {FIRST_RANGE} THEN 1 END),
    min(m.time), CAST(sum(m.price) AS bigint)
FROM queue AS q JOIN message AS m ON m.key = +q.key
WHERE q.key > :after AND q.key <= :last AND m.time <= :until
GROUP BY q.connector, q.account, substr(q.phone, 1, {HEAD}), m.network;

-- backlog_rows: A stretch of the queue with its messages.
SELECT q.key, m.tail, q.connector, q.account, q.phone, m.network, m.time, m.price, q.held,
    q.node IS NOT NULL, q.attempted, m.reference
FROM queue AS q JOIN message AS m ON m.key = q.key WHERE q.key > :after ORDER BY q.key LIMIT :limit;

-- unsent_among: The rows among these that no node has claimed, and of which no part may have left. An attempt with the
-- status 0 is of an operator that took the message, and did not deliver it; one without an answer may have it.
SELECT q.key, q.account FROM queue AS q
WHERE q.key {among(keys)} AND q.node IS NULL AND NOT q.attempted
  AND NOT EXISTS (SELECT 1 FROM sent AS s WHERE s.key = q.key)
  AND NOT EXISTS (SELECT 1 FROM attempt AS t WHERE t.key = q.key AND t.status IN (0, {NO_ANSWER}))
ORDER BY q.key;

-- move_queued: Gives messages another connector. Messages that the earlier operator deferred are due at once.
UPDATE queue SET
    connector = :connector, put_off = {false},
    due = CASE WHEN put_off THEN (SELECT m.time FROM message AS m WHERE m.key = queue.key) ELSE due END
WHERE key {among(keys)};

-- note_holds: Notes that an administrator holds messages.
INSERT INTO message_hold (key, began, why) SELECT key, :now, {OF_ADMINISTRATOR} FROM queue
WHERE key {among(keys)} AND NOT coalesce(held >= {OF_ADMINISTRATOR} AND held < {FIRST_RANGE}, {false})
ON CONFLICT DO NOTHING;

-- end_administrators_holds: Notes that an administrator released messages.
UPDATE message_hold SET ended = :now WHERE key {among(keys)} AND ended IS NULL AND why = {OF_ADMINISTRATOR};

-- hold_queued: Holds messages for an administrator, in front of the reason for which they wait already.
UPDATE queue SET held = {OF_ADMINISTRATOR} || coalesce(held, '')
WHERE key {among(keys)} AND NOT coalesce(held >= {OF_ADMINISTRATOR} AND held < {FIRST_RANGE}, {false});

-- release_queued: Ends the hold of an administrator. An earlier reason stays. The message is due from now on, like one
-- that another rule lets go: it did not wait for its connector.
UPDATE queue SET held = nullif(substr(held, 2), ''), due = CASE WHEN due < :now THEN :now ELSE due END
WHERE key {among(keys)} AND held >= {OF_ADMINISTRATOR} AND held < {FIRST_RANGE};

-- add_queue_order: Places an order.
INSERT INTO queue_order (at, body) VALUES (:at, :body) RETURNING id;

-- queue_orders: The orders after another.
SELECT id, body FROM queue_order WHERE id > :after ORDER BY id;

-- answer_queue_order: Keeps a node's answer.
INSERT INTO queue_answer ("order", node, messages, spared) VALUES (:order, :node, :messages, :spared)
ON CONFLICT DO NOTHING;

-- queue_answers: The answers to an order.
SELECT node, messages, spared FROM queue_answer WHERE "order" = :order;

-- forget_queue_answers: Deletes the answers to old orders.
DELETE FROM queue_answer WHERE "order" IN (SELECT id FROM queue_order WHERE at < :before);

-- forget_queue_orders: Deletes old orders.
DELETE FROM queue_order WHERE at < :before;
