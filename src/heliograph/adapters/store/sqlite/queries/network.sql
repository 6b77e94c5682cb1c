-- add_routes: Adds routes, and returns the ids of the new ones. The index of their columns is not unique: it
-- has more of them.
INSERT INTO route (prefix, network, account, plan, sender, connector, priority, share, fallback)
SELECT
    j.value ->> 0, j.value ->> 1, j.value ->> 2, j.value ->> 3, j.value ->> 4, j.value ->> 5, j.value ->> 6,
    j.value ->> 7, j.value ->> 8
FROM {elements(rows)} AS j WHERE NOT EXISTS (
    SELECT 1 FROM route AS r WHERE r.prefix = j.value ->> 0 AND r.network = j.value ->> 1 AND r.account = j.value ->> 2
      AND r.plan = j.value ->> 3 AND r.sender = j.value ->> 4 AND r.connector = j.value ->> 5
      AND r.priority = j.value ->> 6)
RETURNING id;
