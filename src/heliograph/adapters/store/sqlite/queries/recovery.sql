-- release_others_messages: Gives up all claims of messages by other nodes.
UPDATE queue SET node = NULL WHERE node <> :node;

-- release_others_notices: Gives up all claims of notices by other nodes.
UPDATE callback_retry SET node = NULL WHERE node <> :node;

-- release_others_parts: Gives up all claims of parts of inbound messages by other nodes.
UPDATE inbound_part SET node = NULL WHERE node <> :node;

-- lose_others_answers: Marks the answers of other nodes as lost.
UPDATE inbound_unanswered SET lost = 1 WHERE node <> :node;

-- forget_others_links: Deletes the link states of other nodes.
DELETE FROM link_state WHERE node <> :node;

-- forget_others_reports: Deletes the reports of other nodes.
DELETE FROM node_report WHERE node <> :node;

-- marks: The marks of the single worker.
SELECT name, value FROM mark;

-- last_key: The highest key of all.
SELECT max(
    coalesce((SELECT max(key) FROM message), 0), coalesce((SELECT max(key) FROM batch), 0),
    coalesce((SELECT max(key) FROM inbound), 0)
);

-- unanswered_inbound: Whether any inbound message may still be repeated.
SELECT EXISTS (SELECT 1 FROM inbound_unanswered ORDER BY key LIMIT 1);
