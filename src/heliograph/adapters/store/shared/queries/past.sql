-- past_mark: The mark of a data directory.
SELECT moves, at FROM past_mark WHERE directory = :directory;

-- forks: The accepted losses, the newest last.
SELECT id FROM fork ORDER BY number;

-- timeline: The timeline of PostgreSQL; SQLite has none.

-- counted_commits: SQLite counts none.

-- move_past_mark: Moves the mark of a data directory on.
INSERT INTO past_mark (directory, moves, at, timeline) VALUES (:directory, 1, :at, :timeline)
ON CONFLICT (directory) DO UPDATE SET moves = past_mark.moves + 1, at = excluded.at, timeline = excluded.timeline;

-- nudge_past_mark: Moves the mark of a data directory on, if it has one.
UPDATE past_mark SET moves = moves + 1 WHERE directory = :directory RETURNING moves;

-- forget_past_marks: Deletes marks that moved last before a time.
DELETE FROM past_mark WHERE at < :before;

-- add_fork: Adds an accepted loss.
INSERT INTO fork (number, id, at) VALUES ((SELECT coalesce(max(number), 0) + 1 FROM fork), :id, :at);
