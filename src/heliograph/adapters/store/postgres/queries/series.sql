-- lock_series: Lets one node at a time change cells: two that add to one cell must not both read it as it was.
SELECT pg_advisory_xact_lock(7243961);

-- trails_left: Trails that no node counts, oldest first. One that another node is counting is left to it.
SELECT id, keys FROM series_trail WHERE node = 0 ORDER BY id LIMIT :limit FOR UPDATE;
