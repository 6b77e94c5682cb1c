-- Which messages of the queue an operator put off, or did not answer for. How many they are is looked at often: there
-- may be millions of scheduled ones beside them.
ALTER TABLE queue ADD COLUMN put_off INTEGER NOT NULL DEFAULT 0;

UPDATE queue SET put_off = 1
WHERE EXISTS (SELECT 1 FROM message WHERE message.key = queue.key AND message.time < queue.due);

CREATE INDEX queue_put_off ON queue (due, connector) WHERE put_off = 1 AND node IS NULL;
