-- open_message: The key of a message without a final.
SELECT key FROM message WHERE key = :key AND NOT EXISTS (SELECT 1 FROM final WHERE final.key = message.key);

-- overdue: Messages that await a receipt, by key, each with whether it is overdue.
SELECT a.key, m.expires < :expired AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = a.key)
FROM (SELECT DISTINCT key FROM awaiting WHERE key > :beyond AND key < :before ORDER BY key LIMIT :limit) AS a
JOIN message AS m ON m.key = a.key;

-- unreported: The parts that await receipts, of messages by key, and whether their message is open.
SELECT a.key, a.connector, a.operator_id, s.at, m.sender, m.destination,
    NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = a.key)
FROM (SELECT DISTINCT key FROM awaiting WHERE key > :beyond AND key < :before ORDER BY key LIMIT :limit) AS k
JOIN awaiting AS a ON a.key = k.key
JOIN sent AS s ON s.key = a.key AND s.segment = a.segment
JOIN message AS m ON m.key = a.key;

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
SELECT connector, operator_id, destination, state, err, at FROM early ORDER BY id DESC LIMIT :limit;
