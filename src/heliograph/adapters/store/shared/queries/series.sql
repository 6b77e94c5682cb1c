-- lock_series: Needs no statement: SQLite has one writer.

-- trails_counted: Deletes a node's trails up to a commit.
DELETE FROM series_trail WHERE node = :node AND seq <= :upto RETURNING seq;

-- leave_trails: Leaves trails of a node's commits to whoever counts from the rows.
UPDATE series_trail SET node = 0 WHERE node = :node AND seq {among(odd)};

-- keep_trail: A trail to be counted from the rows.
INSERT INTO series_trail (node, seq, keys) VALUES (0, 0, :keys);

-- trails: What all trails name.
SELECT keys FROM series_trail;

-- any_trail_left: Whether there is a trail that no node counts.
SELECT 1 FROM series_trail WHERE node = 0 LIMIT 1;

-- trails_left: Trails that no node counts, oldest first.
SELECT id, keys FROM series_trail WHERE node = 0 ORDER BY id LIMIT :limit;

-- delete_trails: Deletes trails.
DELETE FROM series_trail WHERE id {among(ids)};

-- series_cell: One cell as it is kept.
SELECT accepted, segments, submitted, delivered, failed, cancelled, inbound, refused, spend,
    failures, refusals, to_operator, to_receipt
FROM series
WHERE grain = :grain AND start = :start AND account = :account AND connector = :connector AND country = :country;

-- put_series_cell: Keeps a cell in the place of the one that is there.
INSERT INTO series (
    grain, start, account, connector, country, accepted, segments, submitted, delivered, failed, cancelled, inbound,
    refused, spend, failures, refusals, to_operator, to_receipt
) VALUES (
    :grain, :start, :account, :connector, :country, :accepted, :segments, :submitted, :delivered, :failed, :cancelled,
    :inbound, :refused, :spend, :failures, :refusals, :to_operator, :to_receipt
) ON CONFLICT (grain, start, account, connector, country) DO UPDATE SET
    accepted = excluded.accepted, segments = excluded.segments, submitted = excluded.submitted,
    delivered = excluded.delivered, failed = excluded.failed, cancelled = excluded.cancelled,
    inbound = excluded.inbound, refused = excluded.refused, spend = excluded.spend, failures = excluded.failures,
    refusals = excluded.refusals, to_operator = excluded.to_operator, to_receipt = excluded.to_receipt;

-- series_points: Sums by bucket of time; account and connector -1 and country '*' are any.
SELECT start, sum(accepted), sum(segments), sum(submitted), sum(delivered), sum(failed), sum(cancelled), sum(inbound),
    sum(refused), sum(spend)
FROM series
WHERE grain = :grain AND start >= :start AND start < :end AND (account = :account OR :account = -1)
  AND (connector = :connector OR :connector = -1) AND (country = :country OR :country = '*')
GROUP BY start ORDER BY start;

-- series_totals: Sums by account, connector and country.
SELECT account, connector, country, sum(accepted), sum(segments), sum(submitted), sum(delivered), sum(failed),
    sum(cancelled), sum(inbound), sum(refused), sum(spend)
FROM series
WHERE grain = :grain AND start >= :start AND start < :end AND (account = :account OR :account = -1)
  AND (connector = :connector OR :connector = -1) AND (country = :country OR :country = '*')
GROUP BY account, connector, country ORDER BY account, connector, country;

-- series_details: Codes, reasons and delays of cells that have any, of some hours of each day.
SELECT start, account, connector, country, failures, refusals, to_operator, to_receipt FROM series
WHERE grain = :grain AND start >= :start AND start < :end AND (account = :account OR :account = -1)
  AND (connector = :connector OR :connector = -1) AND (country = :country OR :country = '*')
  AND start % 86400000 >= :since AND start % 86400000 < :until
  AND (failures <> '' OR refusals <> '' OR length(to_operator) > 0 OR length(to_receipt) > 0)
ORDER BY start, account, connector, country;

-- forget_series: Deletes cells of buckets that begin before a time.
DELETE FROM series WHERE (grain, start, account, connector, country) IN (
    SELECT grain, start, account, connector, country FROM series WHERE grain = :grain AND start < :before
    ORDER BY start LIMIT :limit
) RETURNING 1;

-- trail_accepted: Messages by their keys, as they were accepted.
SELECT key, account, connector, destination, segments, price FROM message WHERE key {among(keys)};

-- trail_sent: When operators took the first parts of messages, and when these were due.
SELECT s.key, s.at, m.account, s.connector, m.destination, m.time
FROM sent AS s JOIN message AS m ON m.key = s.key
WHERE s.key {among(keys)} AND s.segment = 0 AND s.status = 0;

-- trail_ended: The ends of messages: which connector had them last, what was given back, and when operators had taken
-- them.
SELECT f.key, f.at, m.account,
    coalesce((SELECT max(s.connector) FROM sent AS s WHERE s.key = f.key), m.connector),
    m.destination, f.state, f.err,
    coalesce((SELECT l.amount FROM ledger AS l WHERE l.message = f.key AND l.kind = {EntryKind.REFUND}), 0),
    (SELECT max(s.at) FROM sent AS s WHERE s.key = f.key AND s.status = 0)
FROM final AS f JOIN message AS m ON m.key = f.key
WHERE f.key {among(keys)};

-- trail_inbound: Messages from phones, by their keys.
SELECT key, at, account, connector, sender, price FROM inbound WHERE key {among(keys)};
