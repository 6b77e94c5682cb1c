-- release_others_messages: Gives up all claims of messages but a node's own.
UPDATE queue SET node = NULL WHERE node <> :node;

-- release_others_notices: Gives up all claims of notices but a node's own.
UPDATE callback_retry SET node = NULL WHERE node <> :node;

-- release_others_parts: Gives up all claims of parts of inbound messages but a node's own.
UPDATE inbound_part SET node = NULL WHERE node <> :node;

-- lose_others_answers: Nobody answers any more what came to other nodes.
UPDATE inbound_unanswered SET lost = 1 WHERE node <> :node;

-- forget_others_links: Nobody but this node has any links.
DELETE FROM link_state WHERE node <> :node;

-- marks: The marks; there is one worker.
SELECT name, value FROM mark;

-- last_key: The highest key of all.
SELECT max(
    coalesce((SELECT max(key) FROM message), 0), coalesce((SELECT max(key) FROM batch), 0),
    coalesce((SELECT max(key) FROM inbound), 0)
);
