-- leave_others_trails: Leaves the trails of all other nodes to whoever counts from the rows.
UPDATE series_trail SET node = 0 WHERE node <> :node;
