-- without_time_limit: Removes the time limit, for recovery.
SET LOCAL statement_timeout = 0;

-- with_custom_plans: Plans for the present marks, because few rows may be above them, or many.
SET LOCAL plan_cache_mode = force_custom_plan;

-- join_nodes: Makes the node known.
INSERT INTO node (number) VALUES (:node) ON CONFLICT DO NOTHING;

-- node_lives: Whether the node still has its work.
SELECT node_lives(:node);

-- predecessor: The previous node with a worker number.
SELECT node FROM worker WHERE number = :worker FOR UPDATE;

-- fence_node: Fences the node.
SELECT fence_node(:node);

-- take_worker: Gives the worker number to the node.
INSERT INTO worker (number, node) VALUES (:worker, :node) ON CONFLICT (number) DO UPDATE SET node = excluded.node;

-- marks: The marks of a worker.
SELECT name, value FROM mark WHERE worker = :worker;

-- last_key: The highest key of all.
SELECT greatest(
    coalesce((SELECT max(key) FROM message), 0), coalesce((SELECT max(key) FROM batch), 0),
    coalesce((SELECT max(key) FROM inbound), 0)
);

-- unanswered_inbound: Whether any inbound message may still be repeated.
SELECT EXISTS (SELECT 1 FROM inbound_unanswered WHERE key > 0 AND NOT answered ORDER BY key LIMIT 1);
