CREATE INDEX queue_account ON queue (connector, account, due, key) WHERE node IS NULL;
