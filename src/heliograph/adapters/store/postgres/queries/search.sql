-- hits_of_references: The messages of an account's requests with one of these references.
SELECT {hit} FROM reference AS r JOIN message AS m ON m.key = r.key
LEFT JOIN final AS f ON f.key = m.key
WHERE r.account = :account AND r.reference = ANY (:references) AND NOT r.batch ORDER BY m.key;

-- page: The rows within the effort that fit the rest of the search: one by one, in their order, until the page is full.
-- (OFFSET 0 keeps the planner from joining all rows first, and from reversing the joins.)
SELECT {hit}
FROM ({rows} LIMIT :effort) AS looked
JOIN LATERAL (SELECT * FROM message WHERE key = looked.key OFFSET 0) AS m ON true
LEFT JOIN LATERAL (SELECT state, err FROM final WHERE key = looked.key OFFSET 0) AS f ON true
WHERE (:number::text = '' OR starts_with(m.destination, :number))
  AND (:account::bigint IS NULL OR m.account = :account AND m.time >= :from AND m.time <= :to)
  AND (:state::smallint IS NULL OR m.state = :state)
  AND (:final::smallint IS NULL OR CASE :final
       WHEN 1 THEN f.state = {Delivery.DELIVRD}
       WHEN 2 THEN f.state <> {Delivery.DELIVRD}
       WHEN 3 THEN f.state IS NULL AND {taken} >= m.segments
       WHEN 4 THEN f.state IS NULL AND {taken} < m.segments AND {held} IS NULL
       WHEN 5 THEN {held} IS NULL
       ELSE {held} IS NOT NULL END)
  AND (:connector::bigint IS NULL OR m.connector = :connector OR {sent_by} = :connector)
  AND (:sender::text = '' OR lower(m.sender) = :sender)
  AND (:network::text = '' OR m.network = :network)
  AND (:heads::text[] IS NULL OR substr(m.destination, 1, {HEAD}) = ANY (:heads))
  AND (NOT :ended::boolean OR f.state <> {Delivery.DELIVRD} AND (:delivery::smallint IS NULL OR f.state = :delivery)
       AND (:code::text = '' OR {err} = :code))
ORDER BY {order} LIMIT :limit;

-- rows_of_reference: The messages of requests with a reference, of an account or of all. (OFFSET 0 keeps the planner
-- from reading all messages instead of the messages of each request, as it does before tables are analyzed.)
SELECT 0 AS time, m.key FROM account AS a
JOIN reference AS r ON r.account = a.id AND r.reference = :reference
LEFT JOIN batch AS b ON b.key = r.key
CROSS JOIN LATERAL (
    SELECT key FROM message
    WHERE key >= r.key AND key <= coalesce(b.last_key, r.key) AND (b.key IS NULL OR batch = b.key)
      AND key >= :start AND key < :key
    OFFSET 0
) AS m
WHERE :account::bigint IS NULL OR a.id = :account
ORDER BY m.key DESC;

-- rows_by_number: Messages to a range of numbers, block by block, newest first.
SELECT b.block AS time, n.key FROM number_block AS b
CROSS JOIN LATERAL (
    SELECT key FROM message_number
    WHERE block = b.block AND number >= :low AND number < :high || ':' AND key >= :start AND key < :key
    OFFSET 0
) AS n
WHERE b.last_key >= :start AND b.first_key < :key
ORDER BY b.block DESC, n.key DESC;

-- rows_by_block: Messages between the first and the last of this account, connector and sender in each block, newest
-- first. (Read block by block, so that no join loses the order of blocks. In a block without such messages both are
-- NULL.)
SELECT b.block AS time, n.key FROM number_block AS b
CROSS JOIN LATERAL (
    SELECT min(first_key) AS first_key, max(last_key) AS last_key FROM block_content
    WHERE block = b.block AND (:account::bigint IS NULL OR account = :account)
      AND (:connector::bigint IS NULL OR connector = :connector) AND (:sender::text = '' OR sender = :sender)
    OFFSET 0
) AS c
CROSS JOIN LATERAL (
    SELECT key FROM message
    WHERE key >= c.first_key AND key <= c.last_key AND key >= :start AND key < :key
    OFFSET 0
) AS n
WHERE b.last_key >= :start AND b.first_key < :key
ORDER BY b.block DESC, n.key DESC;

-- rows_of_account: All messages of an account by time of sending. Each part is read in the order of its index.
SELECT time, key FROM (
    (SELECT time, key FROM message
     WHERE account = :account AND state IN {LISTED} AND time >= :start AND time <= :end AND (time < :end OR key < :key)
     ORDER BY time DESC, key DESC)
    UNION ALL
    (SELECT time, key FROM message
     WHERE account = :account AND state = {State.SCHEDULED} AND time >= :start AND time <= :end
       AND (time < :end OR key < :key)
     ORDER BY time DESC, key DESC)
    UNION ALL
    (SELECT time, key FROM message
     WHERE account = :account AND state = {State.CANCELLED} AND time >= :start AND time <= :end
       AND (time < :end OR key < :key)
     ORDER BY time DESC, key DESC)
) AS merged ORDER BY time DESC, key DESC;
