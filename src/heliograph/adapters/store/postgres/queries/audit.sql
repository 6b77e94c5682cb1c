-- audit_gone_queue: Messages claimed by a node that is gone.
SELECT m.key, m.tail, q.node
FROM queue AS q JOIN node AS n ON n.number = q.node AND n.gone JOIN message AS m ON m.key = q.key
LIMIT :most;

-- audit_gone_callback: Callbacks claimed by a node that is gone.
SELECT r.key, m.tail, r.node
FROM callback_retry AS r JOIN node AS n ON n.number = r.node AND n.gone LEFT JOIN message AS m ON m.key = r.key
LIMIT :most;

-- audit_gone_part: Parts of inbound messages claimed by a node that is gone.
SELECT p.connector, p.node FROM inbound_part AS p JOIN node AS n ON n.number = p.node AND n.gone LIMIT :most;
