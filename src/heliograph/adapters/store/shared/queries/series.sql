-- lock_series: Needs no statement, because SQLite has a single writer.

-- owe_series: Notes messages that ended at the same time, to be counted from their rows.
INSERT INTO series_owed (key, at) SELECT key, :now FROM message WHERE key {among(keys)};

-- any_series_owed: Whether a message must be counted from its row.
SELECT 1 FROM series_owed LIMIT 1;

-- series_owed: Messages to be counted from their rows, oldest first.
SELECT id, key, at FROM series_owed ORDER BY id LIMIT :limit;

-- delete_series_owed: Deletes entries that were counted.
DELETE FROM series_owed WHERE id {among(ids)};

-- series_cell: A stored cell.
SELECT accepted, segments, submitted, delivered, failed, cancelled, inbound, refused, spend,
    resent, confirmed, denied, failures, refusals, to_operator, to_receipt
FROM series
WHERE grain = :grain AND start = :start AND account = :account AND connector = :connector AND country = :country
  AND network = :network;

-- put_series_cell: Stores a cell, or replaces it.
INSERT INTO series (
    grain, start, account, connector, country, network, accepted, segments, submitted, delivered, failed, cancelled,
    inbound, refused, spend, resent, confirmed, denied, failures, refusals, to_operator, to_receipt
) VALUES (
    :grain, :start, :account, :connector, :country, :network, :accepted, :segments, :submitted, :delivered, :failed, :cancelled,
    :inbound, :refused, :spend, :resent, :confirmed, :denied, :failures, :refusals, :to_operator, :to_receipt
) ON CONFLICT (grain, start, account, connector, country, network) DO UPDATE SET
    accepted = excluded.accepted, segments = excluded.segments, submitted = excluded.submitted,
    delivered = excluded.delivered, failed = excluded.failed, cancelled = excluded.cancelled,
    inbound = excluded.inbound, refused = excluded.refused, spend = excluded.spend, resent = excluded.resent,
    confirmed = excluded.confirmed, denied = excluded.denied, failures = excluded.failures,
    refusals = excluded.refusals, to_operator = excluded.to_operator, to_receipt = excluded.to_receipt;

-- series_points: Sums by bucket of time; account and connector -1, country and network '*' are any.
SELECT start, sum(accepted), sum(segments), sum(submitted), sum(delivered), sum(failed), sum(cancelled), sum(inbound),
    sum(refused), sum(spend), sum(resent), sum(confirmed), sum(denied)
FROM series
WHERE grain = :grain AND start >= :start AND start < :end AND (account = :account OR :account = -1)
  AND (connector = :connector OR :connector = -1) AND (country = :country OR :country = '*')
  AND (network = :network OR :network = '*')
GROUP BY start ORDER BY start;

-- points_of_sums: Counts by bucket of time, from the sums of a connector, country or network, or of everything.
SELECT start, accepted, segments, submitted, delivered, failed, cancelled, inbound, refused, spend, resent, confirmed,
    denied
FROM series
WHERE grain = :grain AND start >= :start AND start < :end AND account = :account AND connector = :connector
  AND country = :country AND network = :network
ORDER BY start;

-- series_delays: Delays by bucket of time.
SELECT start, to_operator, to_receipt FROM series
WHERE grain = :grain AND start >= :start AND start < :end AND (account = :account OR :account = -1)
  AND (connector = :connector OR :connector = -1) AND (country = :country OR :country = '*')
  AND (network = :network OR :network = '*') AND (length(to_operator) > 0 OR length(to_receipt) > 0)
ORDER BY start;

-- delays_of_sums: Delays by bucket of time, from the same sums.
SELECT start, to_operator, to_receipt FROM series
WHERE grain = :grain AND start >= :start AND start < :end AND account = :account AND connector = :connector
  AND country = :country AND network = :network AND (length(to_operator) > 0 OR length(to_receipt) > 0)
ORDER BY start;

-- series_totals: Sums by account, connector, country and network.
SELECT account, connector, country, network, sum(accepted), sum(segments), sum(submitted), sum(delivered),
    sum(failed), sum(cancelled), sum(inbound), sum(refused), sum(spend), sum(resent), sum(confirmed), sum(denied)
FROM series
WHERE grain = :grain AND start >= :start AND start < :end AND (account = :account OR :account = -1)
  AND (connector = :connector OR :connector = -1) AND (country = :country OR :country = '*')
  AND (network = :network OR :network = '*')
GROUP BY account, connector, country, network ORDER BY account, connector, country, network;

-- series_details: Codes, reasons and delays of cells that have any.
SELECT start, account, connector, country, network, failures, refusals, to_operator, to_receipt FROM series
WHERE grain = :grain AND start >= :start AND start < :end AND (account = :account OR :account = -1)
  AND (connector = :connector OR :connector = -1) AND (country = :country OR :country = '*')
  AND (network = :network OR :network = '*')
  AND (failures <> '' OR refusals <> '' OR length(to_operator) > 0 OR length(to_receipt) > 0)
ORDER BY start, account, connector, country, network;

-- forget_series: Deletes cells of buckets that begin before a time.
DELETE FROM series WHERE (grain, start, account, connector, country, network) IN (
    SELECT grain, start, account, connector, country, network FROM series WHERE grain = :grain AND start < :before
    ORDER BY start LIMIT :limit
) RETURNING 1;

-- owed_accepted: Accepted messages by their keys.
SELECT key, account, connector, destination, network, segments, price FROM message WHERE key {among(keys)};

-- owed_ended: Cancelled messages: time, intended connector, and refunded credits.
SELECT f.at, m.account, m.connector, m.destination, m.network,
    coalesce((SELECT l.amount FROM ledger AS l WHERE l.message = f.key AND l.kind = {EntryKind.REFUND}), 0)
FROM final AS f JOIN message AS m ON m.key = f.key
WHERE f.key {among(keys)};
