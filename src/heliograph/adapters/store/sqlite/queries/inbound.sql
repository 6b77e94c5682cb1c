-- repeated: Unanswered messages that a new message may repeat, oldest first, and whether the repeat is certain.
SELECT digest, key, lost OR at < :slow FROM inbound_unanswered
WHERE connector = :connector AND digest {among(digests)} AND at >= :since AND (lost OR node <> :node)
ORDER BY key;
