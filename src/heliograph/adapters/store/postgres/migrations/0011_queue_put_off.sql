CREATE INDEX queue_put_off ON queue (due, connector) WHERE put_off AND node IS NULL;
