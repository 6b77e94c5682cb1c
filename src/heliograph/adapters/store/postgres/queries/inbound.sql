-- repeated: Unanswered messages that a new message may repeat, oldest first, and whether the repeat is certain.
SELECT digest, key, certain FROM find_repeated(:connector, :digests, :since, :slow, :node);

-- check_claimant: Keeps the node from being given up until the transaction ends. Raises HG001 if it was given up.
SELECT check_node(:node);

-- waiting_parts: The unclaimed waiting parts of a set, locked.
SELECT {inbound_part} FROM inbound_part
WHERE connector = :connector AND sender = :sender AND recipient = :recipient AND reference = :reference AND total = :total
  AND joined = 0 AND node IS NULL
ORDER BY number FOR UPDATE;
