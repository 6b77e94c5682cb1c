-- Whose the rows of the queue are: an account's messages keep their order, and many of one account's are not in the way
-- of others'.
ALTER TABLE queue ADD COLUMN account INTEGER NOT NULL DEFAULT 0;

UPDATE queue SET account = coalesce((SELECT message.account FROM message WHERE message.key = queue.key), 0);

CREATE INDEX queue_account ON queue (connector, account, due) WHERE node IS NULL;
