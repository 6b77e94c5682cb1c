-- hits_of_references: The messages of an account's requests with one of these references.
SELECT {hit} FROM json_each(:references) AS wanted
CROSS JOIN reference AS r ON r.account = :account AND r.reference = wanted.value
CROSS JOIN message AS m ON m.key = r.key LEFT JOIN final AS f ON f.key = m.key
WHERE r.batch = 0 ORDER BY m.key;

-- page: The rows within the effort that fit the rest of the search.
SELECT {hit}
FROM (SELECT time, key FROM ({rows}) LIMIT :effort) AS looked
CROSS JOIN message AS m ON m.key = looked.key
LEFT JOIN final AS f ON f.key = m.key
WHERE (:number = '' OR substr(m.destination, 1, length(:number)) = :number)
  AND (:account IS NULL OR m.account = :account AND m.time >= :from AND m.time <= :to)
  AND (:state IS NULL OR m.state = :state)
  AND (:final IS NULL OR CASE :final
       WHEN 1 THEN f.state = {Delivery.DELIVRD}
       WHEN 2 THEN f.state <> {Delivery.DELIVRD}
       WHEN 3 THEN f.state IS NULL AND {taken} >= m.segments
       WHEN 4 THEN f.state IS NULL AND {taken} < m.segments AND {held} IS NULL
       WHEN 5 THEN {held} IS NULL
       ELSE {held} IS NOT NULL END)
  AND (:connector IS NULL OR m.connector = :connector OR {sent_by} = :connector)
  AND (:sender = '' OR lower(m.sender) = :sender)
  AND (:network = '' OR m.network = :network)
  AND (:heads IS NULL OR substr(m.destination, 1, {HEAD}) IN (SELECT value FROM json_each(:heads)))
  AND (NOT :ended OR f.state <> {Delivery.DELIVRD} AND (:delivery IS NULL OR f.state = :delivery)
       AND (:code = '' OR {err} = :code))
LIMIT :limit;

-- rows_of_reference: The messages of requests with a reference, of an account or of all. (The sums keep the planner
-- from reading all messages from :start on, instead of the messages of each request.)
SELECT 0 AS time, m.key FROM account AS a
CROSS JOIN reference AS r
LEFT JOIN batch AS b ON b.key = r.key
CROSS JOIN message AS m
WHERE (:account IS NULL OR a.id = :account) AND r.account = a.id AND r.reference = :reference
  AND m.key >= r.key AND m.key <= coalesce(b.last_key, r.key) AND (b.key IS NULL OR m.batch = b.key)
  AND m.key + 0 >= :start AND m.key + 0 < :key
ORDER BY m.key DESC;

-- rows_by_number: Messages to a range of numbers, block by block, newest first. The sum keeps the planner from the
-- index for old blocks, because its order is another, and all rows would have to be sorted.
SELECT 0 AS time, n.key FROM number_block AS b
CROSS JOIN message_number AS n ON n.block = b.block AND n.number >= :low AND n.number < :high || ':'
WHERE b.last_key + 0 >= :start AND b.first_key < :key AND n.key >= :start AND n.key < :key
ORDER BY b.block DESC, n.key DESC;

-- rows_by_block: Messages between the first and the last of this account, connector and sender in each block, newest
-- first. (Each end of the range has a single bound. With two, the planner takes the wrong bound and reads all messages
-- for each block. In a block without such messages both are NULL, and no key is between them.)
SELECT 0 AS time, m.key FROM number_block AS b
CROSS JOIN message AS m
ON m.key >= max(:start, (
    SELECT min(c.first_key) FROM block_content AS c
    WHERE c.block = b.block AND (:account IS NULL OR c.account = :account)
      AND (:connector IS NULL OR c.connector = :connector) AND (:sender = '' OR c.sender = :sender)
))
AND m.key < min(:key, (
    SELECT max(c.last_key) + 1 FROM block_content AS c
    WHERE c.block = b.block AND (:account IS NULL OR c.account = :account)
      AND (:connector IS NULL OR c.connector = :connector) AND (:sender = '' OR c.sender = :sender)
))
WHERE b.last_key + 0 >= :start AND b.first_key < :key
ORDER BY b.block DESC, m.key DESC;

-- rows_of_account: All messages of an account by time of sending. Each part is read in the order of its index.
SELECT time, key FROM message
WHERE account = :account AND state IN {LISTED} AND time >= :start AND time <= :end AND (time < :end OR key < :key)
UNION ALL
SELECT time, key FROM message
WHERE account = :account AND state = {State.SCHEDULED} AND time >= :start AND time <= :end
  AND (time < :end OR key < :key)
UNION ALL
SELECT time, key FROM message
WHERE account = :account AND state = {State.CANCELLED} AND time >= :start AND time <= :end
  AND (time < :end OR key < :key)
ORDER BY time DESC, key DESC;
