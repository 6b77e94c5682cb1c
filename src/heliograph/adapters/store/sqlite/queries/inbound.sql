-- repeated: Unanswered messages that a new message may repeat, oldest first, and whether the repeat is certain.
SELECT digest, key, lost OR at < :slow, 0 FROM inbound_unanswered
WHERE connector = :connector AND digest {among(digests)} AND at >= :since AND (lost OR node <> :node)
ORDER BY key;

-- forget_answered: Needs no statement, because SQLite deletes the note of a message when its answer has settled.
