-- data_keys: The keys that rows are sealed with, in the order of their creation.
SELECT number, wrapped, since FROM data_key ORDER BY number;

-- add_data_key: Adds a key; no row if the number exists.
INSERT INTO data_key (number, wrapped, since) VALUES (:number, :wrapped, :since) ON CONFLICT DO NOTHING RETURNING 1;

-- rewrap_data_key: The same key, wrapped by another master key.
UPDATE data_key SET wrapped = :wrapped WHERE number = :number;

-- begin_resealing: Starts to seal all rows with a new key, from the first row on.
INSERT INTO resealing (id, stage, after, sealed) VALUES (1, 0, '', 0)
ON CONFLICT (id) DO UPDATE SET stage = 0, after = '', sealed = 0;

-- resealing: The progress of that.
SELECT stage, after, sealed FROM resealing;

-- lock_resealing: The progress of that, locked until the transaction ends.
SELECT stage, after, sealed FROM resealing {for_update};

-- note_resealing: Notes the progress.
UPDATE resealing SET stage = :stage, after = :after, sealed = :sealed;

-- end_resealing: All rows are sealed.
DELETE FROM resealing;

-- accounts_to_seal: Accounts in the order of their ids.
SELECT id, name, signing_secret FROM account WHERE id > :beyond ORDER BY id LIMIT :limit {for_update};

-- seal_account: Replaces the secret of an account.
UPDATE account SET signing_secret = :signing_secret WHERE id = :key;

-- connectors_to_seal: Connectors in the order of their ids.
SELECT id, name, settings FROM connector WHERE id > :beyond ORDER BY id LIMIT :limit {for_update};

-- seal_connector: Replaces the settings of a connector.
UPDATE connector SET settings = :settings WHERE id = :key;

-- factors_to_seal: The second factors of all users. A user's name has no space.
SELECT {user_column} || ' ' || id, {user_column} || ' ' || id, secret FROM admin_factor
ORDER BY {user_column} {bytewise}, id {bytewise} {for_update};

-- seal_factor: Replaces the secret of a second factor.
UPDATE admin_factor SET secret = :secret WHERE {user_column} || ' ' || id = :key;

-- messages_to_seal: Messages in the order of their keys.
SELECT key, key, content FROM message WHERE key > :beyond ORDER BY key LIMIT :limit {for_update};

-- seal_message: Replaces the content of a message.
UPDATE message SET content = {content} WHERE key = :key;

-- inbound_to_seal: Inbound messages in the order of their keys.
SELECT key, key, content, octets FROM inbound WHERE key > :beyond ORDER BY key LIMIT :limit {for_update};

-- seal_inbound: Replaces the content of an inbound message.
UPDATE inbound SET content = {content}, octets = :octets WHERE key = :key;

-- retries_to_seal: Notices to be retried, in the order of their keys.
SELECT key, key, body FROM callback_retry WHERE key > :beyond ORDER BY key LIMIT :limit {for_update};

-- seal_retry: Replaces the body of a notice.
UPDATE callback_retry SET body = :body WHERE key = :key;

-- count_to_seal: Number of rows of the largest tables.
SELECT (SELECT count(*) FROM message), (SELECT count(*) FROM inbound);
