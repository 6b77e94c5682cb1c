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
SELECT name, id, signing_secret FROM account WHERE id > :id ORDER BY id LIMIT :limit;

-- seal_account: Replaces the secret of an account, unless it has changed.
UPDATE account SET signing_secret = :signing_secret WHERE id = :id AND signing_secret = :was_signing_secret;

-- connectors_to_seal: Connectors in the order of their ids.
SELECT name, id, settings FROM connector WHERE id > :id ORDER BY id LIMIT :limit;

-- seal_connector: Replaces the settings of a connector, unless they have changed.
UPDATE connector SET settings = :settings WHERE id = :id AND settings = :was_settings;

-- factors_to_seal: Second factors in the order of users and ids. A user's name has no space.
SELECT {user_column} || ' ' || id, {user_column}, id, secret FROM admin_factor
WHERE ({user_column}, id) > (:user, :id) ORDER BY {user_column}, id LIMIT :limit;

-- seal_factor: Replaces the secret of a second factor, unless it has changed.
UPDATE admin_factor SET secret = :secret WHERE {user_column} = :user AND id = :id AND secret = :was_secret;

-- messages_to_seal: Messages in the order of their keys.
SELECT key, key, content FROM message WHERE key > :key ORDER BY key LIMIT :limit;

-- seal_message: Replaces the content of a message, unless it has changed.
UPDATE message SET content = {content} WHERE key = :key AND content = :was_content;

-- inbound_to_seal: Inbound messages in the order of their keys.
SELECT key, key, content, octets FROM inbound WHERE key > :key ORDER BY key LIMIT :limit;

-- seal_inbound: Replaces the content of an inbound message, unless it has changed.
UPDATE inbound SET content = {content}, octets = :octets
WHERE key = :key AND content = :was_content AND octets = :was_octets;

-- retries_to_seal: Notices to be retried, in the order of their keys.
SELECT key, key, body FROM callback_retry WHERE key > :key ORDER BY key LIMIT :limit;

-- seal_retry: Replaces the body of a notice, unless it has changed.
UPDATE callback_retry SET body = :body WHERE key = :key AND body = :was_body;

-- parts_to_seal: Parts of inbound messages in the order of their names.
SELECT
    connector || ' ' || sender || ' ' || recipient || ' ' || reference || ' ' || total || ' ' || number,
    connector, sender, recipient, reference, total, number, octets
FROM inbound_part
WHERE (connector, sender, recipient, reference, total, number)
    > (:connector, :sender, :recipient, :reference, :total, :number)
ORDER BY connector, sender, recipient, reference, total, number LIMIT :limit;

-- seal_part: Replaces the octets of a part, unless they have changed.
UPDATE inbound_part SET octets = :octets
WHERE connector = :connector AND sender = :sender AND recipient = :recipient AND reference = :reference
    AND total = :total AND number = :number AND octets = :was_octets;

-- count_to_seal: Number of rows of the largest tables.
SELECT (SELECT count(*) FROM message), (SELECT count(*) FROM inbound);

-- tails_of: The tails of messages of either way.
SELECT key, tail FROM message WHERE key {among(keys)}
UNION ALL SELECT key, tail FROM inbound WHERE key {among(keys)};
