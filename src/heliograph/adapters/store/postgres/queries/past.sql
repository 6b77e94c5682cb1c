-- timeline: The server's timeline: a number that grows each time a standby becomes the primary, for example 3.
SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint;

-- counted_commits: The commits of a connection.
SELECT seq FROM writer WHERE id = :writer;
