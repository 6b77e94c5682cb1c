-- data_keys: The keys that rows are sealed with, in the order of their making.
SELECT number, wrapped, since FROM data_key ORDER BY number;

-- add_data_key: A new key; no row where one of its number is there.
INSERT INTO data_key (number, wrapped, since) VALUES (:number, :wrapped, :since) ON CONFLICT DO NOTHING RETURNING 1;

-- rewrap_data_key: The same key, wrapped by another master key.
UPDATE data_key SET wrapped = :wrapped WHERE number = :number;

-- begin_resealing: All rows are to be sealed anew, from the first one on.
INSERT INTO resealing (id, stage, after, sealed) VALUES (1, 0, '', 0)
ON CONFLICT (id) DO UPDATE SET stage = 0, after = '', sealed = 0;

-- resealing: How far that is.
SELECT stage, after, sealed FROM resealing;

-- lock_resealing: How far that is; nobody else goes on with it until the transaction ends.
SELECT stage, after, sealed FROM resealing {for_update};

-- note_resealing: How far that is now.
UPDATE resealing SET stage = :stage, after = :after, sealed = :sealed;

-- end_resealing: All rows are sealed.
DELETE FROM resealing;

-- accounts_to_seal: Accounts in the order of their ids.
SELECT id, name, signing_secret FROM account WHERE id > :beyond ORDER BY id LIMIT :limit {for_update};

-- seal_account: Seals the secret of an account.
UPDATE account SET signing_secret = :secret WHERE id = :id;

-- connectors_to_seal: Connectors in the order of their ids.
SELECT id, name, settings FROM connector WHERE id > :beyond ORDER BY id LIMIT :limit {for_update};

-- seal_connector: Seals the settings of a connector.
UPDATE connector SET settings = :settings WHERE id = :id;

-- factors_to_seal: The second factors of all users.
SELECT {user_column}, id, secret FROM admin_factor ORDER BY {user_column} {bytewise}, id {bytewise} {for_update};

-- seal_factor: Seals the secret of a second factor.
UPDATE admin_factor SET secret = :secret WHERE {user_column} = :name AND id = :id;

-- suppressions_to_seal: Suppressions whose numbers are known, in the order of their keys.
SELECT account, digest, number FROM suppression
WHERE account >= :account AND (account > :account OR digest > :digest) AND number <> ''
ORDER BY account, digest LIMIT :limit {for_update};

-- seal_suppression: Seals the number of a suppression.
UPDATE suppression SET number = :number WHERE account = :account AND digest = :digest;

-- queued_to_seal: Rows of the queue in the order of their keys.
SELECT q.key, q.phone FROM queue AS q WHERE q.key > :beyond ORDER BY q.key LIMIT :limit {for_update};

-- numbers_of: The numbers of some messages.
SELECT key, destination, sender FROM message WHERE key {among(keys)};

-- seal_queued: Seals the phone of a row of the queue.
UPDATE queue SET phone = :phone WHERE key = :key;

-- messages_to_seal: Messages in the order of their keys.
SELECT key, account, destination, sender, content FROM message WHERE key > :beyond ORDER BY key LIMIT :limit {for_update};

-- seal_message: Seals the numbers and the content of a message.
UPDATE message SET destination = :destination, sender = :sender, content = {content} WHERE key = :key;

-- forget_blocks: Deletes the blocks of numbers, which are made again in time.
DELETE FROM number_block;

-- forget_numbers: Deletes what stands in the blocks.
DELETE FROM message_number;

-- forget_contents: Deletes what the blocks have messages of.
DELETE FROM block_content;

-- inbound_to_seal: Inbound messages in the order of their keys.
SELECT key, sender, recipient, content, octets FROM inbound WHERE key > :beyond ORDER BY key LIMIT :limit {for_update};

-- seal_inbound: Seals the numbers and the content of an inbound message.
UPDATE inbound SET sender = :sender, recipient = :recipient, content = {content}, octets = :octets WHERE key = :key;

-- retries_to_seal: Notices to be made again, in the order of their keys.
SELECT key, body FROM callback_retry WHERE key > :beyond ORDER BY key LIMIT :limit {for_update};

-- seal_retry: Seals the body of a notice.
UPDATE callback_retry SET body = :body WHERE key = :key;

-- early_to_seal: Early receipts in the order of their ids.
SELECT id, connector, operator_id, destination FROM early WHERE id > :beyond ORDER BY id LIMIT :limit {for_update};

-- seal_early: Seals the number of an early receipt.
UPDATE early SET destination = :destination WHERE id = :id;

-- count_to_seal: How many rows there are in the tables that have the most.
SELECT (SELECT count(*) FROM message), (SELECT count(*) FROM inbound), (SELECT count(*) FROM suppression);
