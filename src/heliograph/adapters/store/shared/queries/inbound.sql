-- check_claimant: Needs no statement, because SQLite has a single node.

-- waiting_parts: The unclaimed waiting parts of a set.
SELECT {inbound_part} FROM inbound_part
WHERE connector = :connector AND sender = :sender AND recipient = :recipient AND reference = :reference AND total = :total
  AND joined = 0 AND node IS NULL
ORDER BY number;

-- claim_parts: Gives the waiting parts of a set to a node.
UPDATE inbound_part SET node = :node
WHERE connector = :connector AND sender = :sender AND recipient = :recipient AND reference = :reference AND total = :total
  AND joined = 0 AND node IS NULL;

-- ready_sets: Sets that are complete, or have a first part from before a time.
SELECT connector, sender, recipient, reference, total FROM inbound_part
WHERE joined = 0 AND node IS NULL
GROUP BY connector, sender, recipient, reference, total HAVING count(*) >= total OR min(at) < :before
ORDER BY min(at) LIMIT :limit;

-- forget_joined: Deletes joined parts from before a time.
DELETE FROM inbound_part WHERE (connector, sender, recipient, reference, total, number) IN (
    SELECT connector, sender, recipient, reference, total, number FROM inbound_part
    WHERE joined <> 0 AND at < :before ORDER BY at LIMIT :limit
) RETURNING 1;

-- forget_unanswered: Deletes notes of unanswered messages from before a time.
DELETE FROM inbound_unanswered WHERE key IN (
    SELECT key FROM inbound_unanswered WHERE key < :before ORDER BY key LIMIT :limit
) RETURNING 1;

-- inbound_newest: Inbound messages, newest first.
SELECT {inbound} FROM inbound AS i WHERE i.key < :before ORDER BY i.key DESC LIMIT :limit;

-- inbound_of: The inbound messages of an account, newest first.
SELECT {inbound} FROM inbound AS i WHERE i.account = :account AND i.key < :before ORDER BY i.key DESC LIMIT :limit;

-- inbound_numbered: The inbound messages from or to a number, newest first. Only the index on the number gives the
-- order of these sums. Other plans are cheap for a common number, and read everything for an unknown number.
SELECT {inbound} FROM inbound AS i WHERE i.key IN (
    SELECT s.key FROM (
        SELECT key FROM inbound WHERE sender = :number AND key + 0 < :before ORDER BY key + 0 DESC LIMIT :limit
    ) AS s
    UNION ALL
    SELECT r.key FROM (
        SELECT key FROM inbound WHERE recipient = :number AND key + 0 < :before ORDER BY key + 0 DESC LIMIT :limit
    ) AS r
) ORDER BY i.key DESC LIMIT :limit;

-- inbound_numbered_of: The inbound messages of an account from or to a number, newest first. Read by the number,
-- because the account may have millions.
SELECT {inbound} FROM inbound AS i WHERE i.key IN (
    SELECT s.key FROM (
        SELECT key FROM inbound WHERE sender = :number AND account + 0 = :account AND key + 0 < :before
        ORDER BY key + 0 DESC LIMIT :limit
    ) AS s
    UNION ALL
    SELECT r.key FROM (
        SELECT key FROM inbound WHERE recipient = :number AND account + 0 = :account AND key + 0 < :before
        ORDER BY key + 0 DESC LIMIT :limit
    ) AS r
) ORDER BY i.key DESC LIMIT :limit;

-- reply_of: The reply to an inbound message, by its reference, or the reason why it was not sent.
SELECT m.key, m.tail, i.problem FROM inbound AS i
LEFT JOIN reference AS r ON r.account = i.account AND r.reference = :reference
LEFT JOIN message AS m ON m.key = r.key
WHERE i.key = :key;

-- inbound_by_id: An inbound message.
SELECT {inbound} FROM inbound AS i WHERE i.key = :key AND i.tail = :tail;

-- inbound_after: The inbound messages of an account behind a message or a key, in the order in which the account got
-- them. At least one, then as many as fit the limit of octets.
WITH page AS (
    SELECT key, position, sum(size) OVER (ORDER BY position ROWS UNBOUNDED PRECEDING) - size AS before
    FROM (
        SELECT key, position, length(octets) AS size FROM inbound
        WHERE account = :account AND position > coalesce(
            (SELECT c.position FROM inbound AS c WHERE c.key = :after AND c.account = :account), :after
        )
        ORDER BY position LIMIT :limit
    ) AS next
)
SELECT {inbound} FROM page JOIN inbound AS i ON i.key = page.key WHERE page.before < :octets ORDER BY page.position;

-- inbound_of_account: An inbound message of the account.
SELECT {inbound} FROM inbound AS i WHERE i.key = :key AND i.tail = :tail AND i.account = :account;

-- newest_positions: Positions of the newest inbound messages of some accounts; 0 without messages.
SELECT a.id, coalesce((SELECT max(i.position) FROM inbound AS i WHERE i.account = a.id), 0)
FROM account AS a WHERE a.id {among(accounts)};

-- inbound_price: The price of a message from a phone at a moment, by the prefixes of its number, of the plan or of the
-- plan `default`.
SELECT inbound FROM price
WHERE plan {among(plans)} AND prefix {among(prefixes)} AND network = '' AND since <= :at AND {present(price)}
ORDER BY plan <> :plan, length(prefix) DESC, since DESC LIMIT 1;

-- enter_inbound: Adds the charge of an inbound message.
INSERT INTO ledger (account, key, kind, amount, message, at)
VALUES (:account, :position, {EntryKind.INBOUND}, -CAST(:price AS bigint), :key, :at);

-- inbound_sender: The phone of an unrouted message.
SELECT sender FROM inbound WHERE key = :key AND tail = :tail AND account = 0;

-- route_inbound: Gives an unrouted message to an account.
UPDATE inbound SET account = :account, way = :way, position = :position, price = :price
WHERE key = :key AND tail = :tail AND account = 0 RETURNING 1;

-- add_number: Adds a number; no row if the same number exists.
INSERT INTO number (number, keyword, connector, account) VALUES (:number, :keyword, :connector, :account)
ON CONFLICT DO NOTHING RETURNING id;

-- remove_number: Removes a number.
DELETE FROM number WHERE id = :number RETURNING 1;
