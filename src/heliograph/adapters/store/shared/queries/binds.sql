-- binds_of: Number of an account's binds that were reported recently.
SELECT count(*) FROM customer_bind WHERE account = :account AND at >= :alive;

-- forget_binds: Drops the binds of nodes that are gone.
DELETE FROM customer_bind WHERE at < :alive;

-- put_bind: Enters a bind, or reports it again.
INSERT INTO customer_bind (id, account, node, at, state) VALUES (:id, :account, :node, :at, :state)
ON CONFLICT (id) DO UPDATE SET at = excluded.at, state = excluded.state;

-- keep_binds: Notes that a node still has its binds.
UPDATE customer_bind SET at = :at WHERE node = :node;

-- remove_bind: Removes a bind.
DELETE FROM customer_bind WHERE id = :id;

-- clear_binds: Removes all binds.
DELETE FROM customer_bind;

-- dropped_binds: The binds that a node must unbind.
SELECT id FROM customer_bind WHERE node = :node AND dropped;

-- drop_bind: Asks the node of a bind to unbind it.
UPDATE customer_bind SET dropped = {true} WHERE id = :id RETURNING id;

-- binds: Binds that were reported recently, by account and id.
SELECT id, account, node, at, state FROM customer_bind WHERE at >= :alive ORDER BY account, id;

-- submissions: The references that the SMPP server made, with their keys.
SELECT reference, key FROM reference WHERE account = :account AND substr(reference, 1, 5) = 'smpp:' ORDER BY key;

-- forget_submissions: Deletes references that the SMPP server made.
DELETE FROM reference WHERE account = :account AND reference {among(names)};

-- scheduled_to: Scheduled messages of an account from a sender to a number.
SELECT key, tail FROM message
WHERE account = :account AND state = {State.SCHEDULED} AND time > :after AND destination = :destination AND sender = :sender
ORDER BY time, key LIMIT :limit;
