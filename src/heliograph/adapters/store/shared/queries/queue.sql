-- messages: The messages of some keys, in any order.
SELECT {message} FROM message AS m WHERE m.key {among(keys)};

-- answers: The operators' answers to parts of some messages.
SELECT key, segment, status FROM sent WHERE key {among(keys)};

-- release_messages: Gives up a node's claims of messages.
UPDATE queue SET node = NULL WHERE node = :node RETURNING 1;

-- release_parts: Gives up a node's claims of parts of inbound messages.
UPDATE inbound_part SET node = NULL WHERE node = :node RETURNING 1;

-- release_notices: Gives up a node's claims of notices.
UPDATE callback_retry SET node = NULL WHERE node = :node RETURNING 1;
