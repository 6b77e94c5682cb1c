-- lock_series: Lets a single node at a time change cells. Two nodes that add to the same cell must not both read the
-- old value.
SELECT pg_advisory_xact_lock(7243961);
