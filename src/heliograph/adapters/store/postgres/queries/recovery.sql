-- without_time_limit: Recovery takes as long as it takes.
SET LOCAL statement_timeout = 0;

-- with_custom_plans: Plans are for the marks as they are: few rows are above them, or many.
SET LOCAL plan_cache_mode = force_custom_plan;

-- join_nodes: Makes the node known.
INSERT INTO node (number) VALUES (:node) ON CONFLICT DO NOTHING;

-- node_lives: Whether the node's work was not given to others.
SELECT node_lives(:node);

-- predecessor: The node that had a worker number.
SELECT node FROM worker WHERE number = :worker FOR UPDATE;

-- fence_node: Lets the node do nothing any more.
SELECT fence_node(:node);

-- take_worker: The worker number is the node's from now on.
INSERT INTO worker (number, node) VALUES (:worker, :node) ON CONFLICT (number) DO UPDATE SET node = excluded.node;

-- marks: The marks of a worker.
SELECT name, value FROM mark WHERE worker = :worker;

-- last_key: The highest key of all.
SELECT greatest(
    coalesce((SELECT max(key) FROM message), 0), coalesce((SELECT max(key) FROM batch), 0),
    coalesce((SELECT max(key) FROM inbound), 0)
);
