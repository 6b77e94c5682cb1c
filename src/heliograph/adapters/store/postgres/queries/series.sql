-- lock_series: Lets one node at a time change cells: two that add to one cell must not both read it as it was.
SELECT pg_advisory_xact_lock(7243961);
