-- put_sign_in_key: Stores the key that names are hashed with, unless there is a key.
INSERT INTO sign_in_key (id, key) VALUES (1, :key) ON CONFLICT (id) DO NOTHING;

-- sign_in_key: That key.
SELECT key FROM sign_in_key;

-- add_sign_in_failure: Adds failures of a name at a node within about a second. After the clock was set back, a time may
-- come again.
INSERT INTO sign_in_failure (at, node, door, name, failures) VALUES (:at, :node, :door, :name, :failures)
ON CONFLICT (at, node, door, name) DO UPDATE SET failures = sign_in_failure.failures + excluded.failures;

-- add_sign_in_place: Makes a place known, from its time on.
INSERT INTO sign_in_place (door, name, at) VALUES (:door, :name, :at)
ON CONFLICT (door, name) DO UPDATE SET at = excluded.at;

-- sign_in_failures: Failures from a time on, the newest first, without the failures of a node and failures that count
-- by the day.
SELECT door, name, node, at, failures FROM sign_in_failure
WHERE at >= :since AND node <> :but AND door <> :daily ORDER BY at DESC, node, door, name LIMIT :limit;

-- daily_failures: Failures that count by the day, the newest first.
SELECT door, name, node, at, failures FROM sign_in_failure
WHERE at >= :since AND node <> :but AND door = :daily ORDER BY at DESC, node, door, name LIMIT :limit;

-- sign_in_places: Known places, the newest first.
SELECT door, name, at FROM sign_in_place ORDER BY at DESC, door, name LIMIT :limit;

-- forget_sign_in_failures: Deletes failures before a time.
DELETE FROM sign_in_failure WHERE (at, node, door, name) IN (
    SELECT at, node, door, name FROM sign_in_failure
    WHERE at < :before AND (door <> :daily OR at < :daily_before) ORDER BY at LIMIT :limit
) RETURNING 1;

-- forget_sign_in_places: Deletes places with a last success before a time.
DELETE FROM sign_in_place WHERE (door, name) IN (
    SELECT door, name FROM sign_in_place WHERE at < :before ORDER BY at LIMIT :limit
) RETURNING 1;

-- rehash_account: Replaces the hash of an account's password unless it has changed.
UPDATE account SET password_hash = :hashed WHERE id = :account AND password_hash = :was;

-- rehash_user: Replaces the hash of a user's password unless it has changed.
UPDATE admin_user SET password_hash = :hashed WHERE name = :name AND password_hash = :was;

-- use_key: Notes a use of an API key.
UPDATE api_key SET used = :at WHERE account = :account AND id = :key AND (used IS NULL OR used < :at);

-- use_token: Notes a use of an admin token.
UPDATE admin_token SET used = :at WHERE id = :key AND (used IS NULL OR used < :at);
