-- add_refusals: Adds to the count of an account, a reason and an hour.
INSERT INTO refusal_count (account, reason, hour, requests, latest)
VALUES (:account, :reason, :hour, :requests, :latest)
ON CONFLICT (account, reason, hour) DO UPDATE SET
    requests = refusal_count.requests + excluded.requests,
    latest = CASE WHEN excluded.latest > refusal_count.latest THEN excluded.latest ELSE refusal_count.latest END;

-- keep_refused_request: A refused request.
INSERT INTO refused_request (account, reason, at, status, method, path, field, message, address, request_id)
VALUES (:account, :reason, :at, :status, :method, :path, :field, :message, :address, :request_id);

-- drop_refused_requests: Deletes all requests of an account and a reason except the last.
DELETE FROM refused_request WHERE account = :account AND reason = :reason AND id <= (
    SELECT id FROM refused_request WHERE account = :account AND reason = :reason ORDER BY id DESC LIMIT 1 OFFSET :most
);

-- refusal_totals: Sums by account and reason since an hour, the largest first; account 0 and reason '' are any.
SELECT account, reason, sum(requests), max(latest) FROM refusal_count
WHERE hour >= :since AND (account = :account OR :account = 0) AND (reason = :reason OR :reason = '')
GROUP BY account, reason ORDER BY 3 DESC, account, reason LIMIT :limit;

-- refusal_hours: Sums by hour.
SELECT hour, sum(requests) FROM refusal_count
WHERE hour >= :since AND (account = :account OR :account = 0) AND (reason = :reason OR :reason = '')
GROUP BY hour ORDER BY hour;

-- refused_requests: The newest stored requests.
SELECT account, reason, at, status, method, path, field, message, address, request_id FROM refused_request
WHERE at >= :since AND (account = :account OR :account = 0) AND (reason = :reason OR :reason = '')
ORDER BY at DESC, id DESC LIMIT :limit;

-- forget_refusals: Deletes counts of hours before a time.
DELETE FROM refusal_count WHERE (account, reason, hour) IN (
    SELECT account, reason, hour FROM refusal_count WHERE hour < :before ORDER BY hour LIMIT :limit
) RETURNING 1;

-- forget_refused_requests: Deletes requests before a time.
DELETE FROM refused_request WHERE id IN (
    SELECT id FROM refused_request WHERE at < :before ORDER BY at LIMIT :limit
) RETURNING 1;
