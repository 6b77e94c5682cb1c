-- repeated: Unanswered messages of which a new one may be a repeat, oldest first, and whether it is one for certain.
SELECT digest, key, lost OR at < :slow FROM inbound_unanswered
WHERE connector = :connector AND digest {among(digests)} AND at >= :since AND (lost OR node <> :node)
ORDER BY key;
