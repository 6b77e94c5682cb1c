-- unsent: Messages above the mark that must still be sent, without a row in a slow table.
SELECT m.key, m.connector FROM message AS m
WHERE m.key > :mark {of_worker(m.key)} AND m.state = {State.SENT}
  AND (SELECT count(*) FROM sent AS s WHERE s.key = m.key) < m.segments
  AND NOT EXISTS (SELECT 1 FROM queue AS q WHERE q.key = m.key)
  AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = m.key)
ORDER BY m.key;

-- unanswered: Messages above the mark that await a receipt, without a row in a slow table.
SELECT m.key FROM message AS m
WHERE m.key > :mark {of_worker(m.key)} AND m.wants_receipt
  AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = m.key)
  AND EXISTS (
    SELECT 1 FROM sent AS s
    WHERE s.key = m.key AND s.status = 0
      AND NOT EXISTS (SELECT 1 FROM part_receipt AS p WHERE p.key = s.key AND p.segment = s.segment)
      AND NOT EXISTS (SELECT 1 FROM awaiting AS a WHERE a.key = s.key AND a.segment = s.segment)
  )
ORDER BY m.key;

-- untold: Finals above the mark that are owed to a customer, without a row in a slow table.
SELECT {message}, f.state, f.err, f.at, 0, {no_octets}, f.at, m.way
FROM final AS f
JOIN message AS m ON m.key = f.key
WHERE f.key > :mark {of_worker(f.key)} AND f.owed AND f.state IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM callback AS c WHERE c.key = f.key)
  AND NOT EXISTS (SELECT 1 FROM callback_retry AS r WHERE r.key = f.key)
ORDER BY f.key;

-- untold_inbound: Inbound messages above the mark that are owed to a customer, without a row in a slow table.
SELECT {inbound}, 0, {no_octets}, i.at, i.way
FROM inbound AS i
WHERE i.key > :mark {of_worker(i.key)} AND i.way <> {Way.NONE}
  AND NOT EXISTS (SELECT 1 FROM callback AS c WHERE c.key = i.key)
  AND NOT EXISTS (SELECT 1 FROM callback_retry AS r WHERE r.key = i.key)
ORDER BY i.key;
