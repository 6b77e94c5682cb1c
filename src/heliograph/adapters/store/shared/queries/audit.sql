-- Proof of the ledger from the rows: each statement finds contradictions. The columns are the parameters of a sentence,
-- in order (app.admin.ledger_checks). The id of a message is its key and its tail, or NULL if only the key is known.

-- audit_balance: Accounts with a balance that is not the sum of their ledger.
SELECT a.name, a.balance, coalesce(sum(l.amount), 0)
FROM account AS a LEFT JOIN ledger AS l ON l.account = a.id
GROUP BY a.id HAVING a.balance <> coalesce(sum(l.amount), 0)
LIMIT :most;

-- audit_ledger: Entries of the ledger without an account.
SELECT l.amount, l.account FROM ledger AS l
WHERE NOT EXISTS (SELECT 1 FROM account AS a WHERE a.id = l.account)
LIMIT :most;

-- audit_charge: Messages that were charged another price than theirs.
SELECT m.key, m.tail, m.price, -coalesce(l.amount, 0)
FROM message AS m
LEFT JOIN ledger AS l ON l.account = m.account AND l.key = m.key AND l.kind = {EntryKind.CHARGE}
WHERE m.batch = 0 AND m.price <> -coalesce(l.amount, 0)
LIMIT :most;

-- audit_batch_charge: Batches that were charged another price than that of their messages.
SELECT b.key, b.tail, coalesce(sum(m.price), 0) + b.dropped, -coalesce(l.amount, 0)
FROM batch AS b
LEFT JOIN message AS m ON m.key > b.key AND m.key <= b.last_key AND m.batch = b.key AND m.account = b.account
LEFT JOIN ledger AS l ON l.account = b.account AND l.key = b.key AND l.kind = {EntryKind.CHARGE}
GROUP BY b.key, l.amount HAVING coalesce(sum(m.price), 0) + b.dropped <> -coalesce(l.amount, 0)
LIMIT :most;

-- audit_batch: Messages of a missing batch.
SELECT m.key, m.tail FROM message AS m
WHERE m.batch <> 0 AND NOT EXISTS (
    SELECT 1 FROM batch AS b WHERE b.key = m.batch AND b.account = m.account AND m.key <= b.last_key
)
LIMIT :most;

-- audit_charged_nothing: Charges without a message or batch.
SELECT l.account, -l.amount, l.key, NULL FROM ledger AS l
WHERE l.kind = {EntryKind.CHARGE}
  AND NOT EXISTS (SELECT 1 FROM message AS m WHERE m.key = l.key AND m.account = l.account AND m.batch = 0)
  AND NOT EXISTS (SELECT 1 FROM batch AS b WHERE b.key = l.key AND b.account = l.account)
  AND NOT EXISTS (
    SELECT 1 FROM dropped_money AS d WHERE d.account = l.account AND d.kind = l.kind AND l.key <= d.last_key
  )
LIMIT :most;

-- audit_dropped_charges: Accounts with charges for missing messages that differ from the sum of dropped messages.
SELECT d.account, d.entries, d.amount, count(l.key), coalesce(-sum(l.amount), 0)
FROM dropped_money AS d
LEFT JOIN ledger AS l ON l.account = d.account AND l.kind = d.kind AND l.key <= d.last_key
  AND NOT EXISTS (SELECT 1 FROM message AS m WHERE m.key = l.key AND m.account = l.account AND m.batch = 0)
  AND NOT EXISTS (SELECT 1 FROM batch AS b WHERE b.key = l.key AND b.account = l.account)
WHERE d.kind = {EntryKind.CHARGE}
GROUP BY d.account, d.entries, d.amount
HAVING count(l.key) <> d.entries OR coalesce(-sum(l.amount), 0) <> d.amount
LIMIT :most;

-- audit_inbound_charge: Inbound messages that were charged another price than theirs.
SELECT i.key, i.tail, i.price, -coalesce(l.amount, 0)
FROM inbound AS i
LEFT JOIN ledger AS l ON l.account = i.account AND l.key = i.position AND l.kind = {EntryKind.INBOUND} AND l.message = i.key
WHERE i.price <> -coalesce(l.amount, 0)
LIMIT :most;

-- audit_inbound_charged_nothing: Charges without an inbound message.
SELECT l.account, -l.amount, l.message, NULL FROM ledger AS l
WHERE l.kind = {EntryKind.INBOUND} AND NOT EXISTS (
    SELECT 1 FROM inbound AS i WHERE i.key = l.message AND i.account = l.account AND i.position = l.key
) AND NOT EXISTS (
    SELECT 1 FROM dropped_money AS d
    WHERE d.account = l.account AND d.kind = l.kind AND l.message <= d.last_key
      AND NOT EXISTS (SELECT 1 FROM inbound AS i WHERE i.key = l.message)
)
LIMIT :most;

-- audit_dropped_inbound: Accounts with charges for missing inbound messages that differ from the sum of dropped
-- messages.
SELECT d.account, d.entries, d.amount, count(l.key), coalesce(-sum(l.amount), 0)
FROM dropped_money AS d
LEFT JOIN ledger AS l ON l.account = d.account AND l.kind = d.kind AND l.message <= d.last_key
  AND NOT EXISTS (SELECT 1 FROM inbound AS i WHERE i.key = l.message)
WHERE d.kind = {EntryKind.INBOUND}
GROUP BY d.account, d.entries, d.amount
HAVING count(l.key) <> d.entries OR coalesce(-sum(l.amount), 0) <> d.amount
LIMIT :most;

-- audit_refund: Refunds for a message that did not fail, or of another amount than its price.
SELECT l.amount, l.account, l.message, NULL FROM ledger AS l
WHERE l.kind = {EntryKind.REFUND} AND NOT EXISTS (
    SELECT 1 FROM message AS m
    WHERE m.key = l.message AND m.account = l.account AND m.state IN {ENDED} AND m.price = l.amount
) AND NOT EXISTS (
    SELECT 1 FROM dropped_money AS d
    WHERE d.account = l.account AND d.kind = l.kind AND l.message <= d.last_key
      AND NOT EXISTS (SELECT 1 FROM message AS m WHERE m.key = l.message)
)
LIMIT :most;

-- audit_dropped_refunds: Accounts with refunds of missing messages that differ from the sum of refunds of dropped
-- messages.
SELECT d.account, d.entries, d.amount, count(l.key), coalesce(sum(l.amount), 0)
FROM dropped_money AS d
LEFT JOIN ledger AS l ON l.account = d.account AND l.kind = d.kind AND l.message <= d.last_key
  AND NOT EXISTS (SELECT 1 FROM message AS m WHERE m.key = l.message)
WHERE d.kind = {EntryKind.REFUND}
GROUP BY d.account, d.entries, d.amount
HAVING count(l.key) <> d.entries OR coalesce(sum(l.amount), 0) <> d.amount
LIMIT :most;

-- audit_refunds: Messages with several refunds.
SELECT message, NULL, count(*) FROM ledger
WHERE kind = {EntryKind.REFUND} GROUP BY message HAVING count(*) > 1
LIMIT :most;

-- audit_no_refund: Cancelled or failed messages without a refund.
SELECT m.key, m.tail, m.price FROM message AS m
WHERE m.state IN {ENDED} AND m.price <> 0
  AND NOT EXISTS (SELECT 1 FROM ledger AS l WHERE l.kind = {EntryKind.REFUND} AND l.message = m.key)
LIMIT :most;

-- audit_state: Messages in no known state.
SELECT key, tail, state FROM message WHERE state NOT IN {STATES}
LIMIT :most;

-- audit_no_end: Cancelled or failed messages without a time.
SELECT m.key, m.tail FROM message AS m
WHERE m.state IN {ENDED} AND NOT EXISTS (
    SELECT 1 FROM final AS f WHERE f.key = m.key AND (f.state IS NULL) = (m.state = {State.CANCELLED})
)
LIMIT :most;

-- audit_ended: Messages with an end in a state without an end.
SELECT m.key, m.tail FROM message AS m JOIN final AS f ON f.key = m.key
WHERE m.state IN {WAITING} OR (f.state IS NULL AND m.state <> {State.CANCELLED})
LIMIT :most;

-- audit_not_queued: Scheduled messages that are not in the queue.
SELECT m.key, m.tail FROM message AS m
WHERE m.state IN {WAITING} AND NOT EXISTS (SELECT 1 FROM queue AS q WHERE q.key = m.key)
LIMIT :most;

-- audit_queued: Rows of the queue without anything left to send.
SELECT q.key, m.tail FROM queue AS q
LEFT JOIN message AS m ON m.key = q.key
WHERE m.key IS NULL OR m.state NOT IN {OPEN} OR EXISTS (SELECT 1 FROM final AS f WHERE f.key = q.key)
   OR (SELECT count(*) FROM sent AS s WHERE s.key = q.key) >= m.segments
LIMIT :most;

-- audit_unsent: Messages below the mark that are in no queue.
SELECT m.key, m.tail FROM message AS m
WHERE m.state = {State.SENT} AND m.key <= coalesce((SELECT k.value FROM mark AS k WHERE k.name = {DISPATCH} {of_maker(m.key)}), 0)
  AND (SELECT count(*) FROM sent AS s WHERE s.key = m.key) < m.segments
  AND NOT EXISTS (SELECT 1 FROM queue AS q WHERE q.key = m.key)
  AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = m.key)
LIMIT :most;

-- audit_unrecognised: Awaited receipts below the mark without a row.
SELECT s.segment + 1, m.key, m.tail
FROM sent AS s JOIN message AS m ON m.key = s.key
WHERE s.status = 0 AND m.wants_receipt
  AND m.key <= coalesce((SELECT k.value FROM mark AS k WHERE k.name = {AWAITING} {of_maker(m.key)}), 0)
  AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = m.key)
  AND NOT EXISTS (SELECT 1 FROM part_receipt AS p WHERE p.key = s.key AND p.segment = s.segment)
  AND NOT EXISTS (SELECT 1 FROM awaiting AS a WHERE a.key = s.key AND a.segment = s.segment)
LIMIT :most;

-- audit_no_callback: Callbacks owed below the mark without a row.
SELECT f.key, m.tail
FROM final AS f LEFT JOIN message AS m ON m.key = f.key
WHERE f.owed AND f.key <= coalesce((SELECT k.value FROM mark AS k WHERE k.name = {CALLBACK} {of_maker(f.key)}), 0)
  AND NOT EXISTS (SELECT 1 FROM callback AS c WHERE c.key = f.key)
  AND NOT EXISTS (SELECT 1 FROM callback_retry AS r WHERE r.key = f.key AND r.due IS NOT NULL)
LIMIT :most;

-- audit_no_inbound_callback: Callbacks of inbound messages owed below the mark without a row.
SELECT i.key, i.tail FROM inbound AS i
WHERE i.way <> {Way.NONE} AND i.key <= coalesce((SELECT k.value FROM mark AS k WHERE k.name = {CALLBACK} {of_maker(i.key)}), 0)
  AND NOT EXISTS (SELECT 1 FROM callback AS c WHERE c.key = i.key)
  AND NOT EXISTS (SELECT 1 FROM callback_retry AS r WHERE r.key = i.key AND r.due IS NOT NULL)
LIMIT :most;

-- audit_no_balance_callback: Notices of low balances that are owed, without a row.
SELECT a.name FROM balance_notice AS b JOIN account AS a ON a.id = b.account
WHERE b.way <> {Way.NONE} AND NOT EXISTS (SELECT 1 FROM callback AS c WHERE c.key = {LOW_BALANCE} - b.id)
  AND NOT EXISTS (SELECT 1 FROM callback_retry AS r WHERE r.key = {LOW_BALANCE} - b.id AND r.due IS NOT NULL)
LIMIT :most;

-- audit_armed: Accounts with a balance below their threshold that were not told.
SELECT a.name, a.balance, a.low_balance FROM account AS a
WHERE a.low_balance_armed <> {false} AND (a.low_balance IS NULL OR a.balance < a.low_balance) LIMIT :most;

-- audit_early_callback: Callbacks of messages that have not ended.
SELECT r.key, NULL FROM callback_retry AS r
WHERE r.key > 0 AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = r.key AND f.state IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM inbound AS i WHERE i.key = r.key)
LIMIT :most;

-- audit_joined_nothing: Parts that were joined to a missing inbound message.
SELECT DISTINCT p.joined, NULL FROM inbound_part AS p
WHERE p.joined <> 0 AND NOT EXISTS (SELECT 1 FROM inbound AS i WHERE i.key = p.joined)
LIMIT :most;

-- audit_gone_queue: Messages claimed by a node that is gone; an embedded store has none.

-- audit_gone_callback: Callbacks claimed by a node that is gone.

-- audit_gone_part: Parts of inbound messages claimed by a node that is gone.
