-- repeated: Unanswered messages of which a new one may be a repeat, oldest first, and whether it is one for certain.
SELECT digest, key, certain FROM find_repeated(:connector, :digests, :since, :slow, :node);

-- waiting_parts: The parts of a set that wait and that nobody has claimed, locked.
SELECT {inbound_part} FROM inbound_part
WHERE connector = :connector AND sender = :sender AND recipient = :recipient AND reference = :reference AND total = :total
  AND joined = 0 AND node IS NULL
ORDER BY number FOR UPDATE;
