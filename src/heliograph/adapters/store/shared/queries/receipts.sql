-- open_message: The key of a message without a final.
SELECT key FROM message WHERE key = :key AND NOT EXISTS (SELECT 1 FROM final WHERE final.key = message.key);

-- overdue: Messages that await a receipt, by key, each with whether it is overdue, and whether it has an end.
SELECT a.key, m.expires < :expired, EXISTS (SELECT 1 FROM final AS f WHERE f.key = a.key)
FROM (SELECT DISTINCT key FROM awaiting WHERE key > :beyond AND key < :before ORDER BY key LIMIT :limit) AS a
JOIN message AS m ON m.key = a.key;

-- unreported: The parts that await receipts, of messages by key, and whether their message is open.
SELECT a.key, a.connector, a.operator_id, s.at, m.sender, m.destination,
    NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = a.key)
FROM (SELECT DISTINCT key FROM awaiting WHERE key > :beyond AND key < :before ORDER BY key LIMIT :limit) AS k
JOIN awaiting AS a ON a.key = k.key
JOIN sent AS s ON s.key = a.key AND s.segment = a.segment
JOIN message AS m ON m.key = a.key;

-- ended_parts: The parts of some messages, by key, that operators took under these ids, with their ends.
SELECT s.operator_id, m.destination, coalesce(p.state, f.state)
FROM sent AS s
JOIN message AS m ON m.key = s.key
LEFT JOIN part_receipt AS p ON p.key = s.key AND p.segment = s.segment
LEFT JOIN final AS f ON f.key = s.key
WHERE s.key >= :since AND s.key < :before AND s.connector = :connector AND s.status = 0
    AND s.operator_id {among(operator_ids)} AND coalesce(p.state, f.state) IS NOT NULL
ORDER BY s.key, s.segment;

-- part_states: The receipts of parts of some messages.
SELECT key, segment, state, err FROM part_receipt WHERE key {among(keys)} ORDER BY key, segment;

-- taken_parts: The parts of some messages that operators took.
SELECT key, segment, connector, operator_id FROM sent WHERE key {among(keys)} AND status = 0 ORDER BY key, segment;

-- feedback_subject: A message of an account, the connector that took it, its end, and the account's last word that
-- contradicts it.
SELECT {message}, (
    SELECT s.connector FROM sent AS s WHERE s.key = m.key AND s.status IN (0, {NO_ANSWER}) ORDER BY s.segment LIMIT 1
), f.state, b.delivered, b.corrects
FROM message AS m
LEFT JOIN final AS f ON f.key = m.key
LEFT JOIN feedback AS b ON b.key = m.key
WHERE m.key = :key AND m.account = :account AND m.tail = :tail;

-- put_feedback: Keeps a word about a message in place of the last.
INSERT INTO feedback (key, at, delivered, corrects) VALUES (:key, :at, :delivered, :corrects)
ON CONFLICT (key) DO UPDATE SET at = excluded.at, delivered = excluded.delivered, corrects = excluded.corrects;

-- orphans: Receipts that match nothing, newest first.
SELECT connector, operator_id, destination, state, err, at FROM early ORDER BY id DESC LIMIT :limit OFFSET :skip;
