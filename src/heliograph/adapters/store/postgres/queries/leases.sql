-- heartbeat: Renews the lease of a node, and returns the time; no row if it was given up. By the server's clock, because
-- clocks of nodes may be wrong.
INSERT INTO node (number, until) VALUES (:node, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + :lasts::bigint)
ON CONFLICT (number) DO UPDATE SET until = excluded.until WHERE NOT node.gone
RETURNING until - :lasts::bigint;

-- release_dead: Gives up the leases that ended this long ago, unless the deadline has passed. Reads the clock once.
SELECT unnest(release_dead_nodes(c.now - :ago::bigint, :kept))
FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now) AS c
WHERE c.now <= :deadline::bigint;

-- lease_worker: Leases a free worker number.
SELECT lease_worker_number(:node);

-- lease_binds: The node's bind slots of a connector.
SELECT unnest(lease_bind_slots(:connector, :node, :binds, :want));

-- ends_of_parts: The messages of parts that ended in a span of time.
SELECT key FROM part_receipt WHERE at >= :start AND at < :end;

-- gathered: Keys of the messages among these of which all parts have ended.
SELECT k.key FROM unnest(:keys::bigint[]) AS k (key)
WHERE NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = k.key)
  AND (SELECT count(*) FROM part_receipt AS p WHERE p.key = k.key AND p.at < :end)
      = (SELECT m.segments FROM message AS m WHERE m.key = k.key)
ORDER BY k.key;

-- node_reports: The latest report of each node; the last column is the end of its lease.
SELECT r.node, r.host, r.version, r.roles, r.directory, r.started, r.at, n.until
FROM node_report AS r LEFT JOIN node AS n ON n.number = r.node ORDER BY r.host COLLATE "C", r.node;
