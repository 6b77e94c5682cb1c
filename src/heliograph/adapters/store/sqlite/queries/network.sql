-- add_route: Adds a route; no row if the same route exists. The index of its columns is not unique: it has more of them.
INSERT INTO route (prefix, connector, priority, network, account, plan, sender, share, fallback)
SELECT :prefix, :connector, :priority, :network, :account, :plan, :sender, :share, :fallback WHERE NOT EXISTS (
    SELECT 1 FROM route WHERE prefix = :prefix AND network = :network AND account = :account AND plan = :plan
      AND sender = :sender AND connector = :connector AND priority = :priority)
RETURNING id;
