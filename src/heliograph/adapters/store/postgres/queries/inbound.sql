-- repeated: Unanswered messages that a new message may repeat, oldest first, whether the repeat is certain, and the number
-- of the newest note. A single row without a key where there are none.
SELECT digest, key, certain, last_note FROM find_repeated(:connector, :digests, :since, :slow, :node);

-- check_claimant: Keeps the node from being given up until the transaction ends. Raises HG001 if it was given up.
SELECT check_node(:node);

-- waiting_parts: The unclaimed waiting parts of a set, locked.
SELECT {inbound_part} FROM inbound_part
WHERE connector = :connector AND sender = :sender AND recipient = :recipient AND reference = :reference AND total = :total
  AND joined = 0 AND node IS NULL
ORDER BY number FOR UPDATE;

-- forget_answered: Deletes notes of answered messages from before a time. Other nodes do so at the same time.
DELETE FROM inbound_unanswered WHERE key IN (
    SELECT key FROM inbound_unanswered WHERE key < :before AND answered ORDER BY key LIMIT :limit FOR UPDATE SKIP LOCKED
) RETURNING 1;
