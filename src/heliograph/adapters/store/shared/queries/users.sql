-- users: All users, by name.
SELECT u.name, u.password_hash, u.role, u.created, EXISTS (SELECT 1 FROM admin_factor AS f WHERE f.{user_column} = u.name)
FROM admin_user AS u ORDER BY u.name {bytewise};

-- user: A user.
SELECT u.name, u.password_hash, u.role, u.created, EXISTS (SELECT 1 FROM admin_factor AS f WHERE f.{user_column} = u.name)
FROM admin_user AS u WHERE u.name = :name;

-- add_user: Adds a user; no row if the name exists.
INSERT INTO admin_user (name, password_hash, role, created) VALUES (:name, :password_hash, :role, :created)
ON CONFLICT DO NOTHING RETURNING 1;

-- update_user: Changes the password or the role of a user; NULL stays as it is.
UPDATE admin_user SET password_hash = coalesce(:password_hash, password_hash), role = coalesce(:role, role)
WHERE name = :name RETURNING 1;

-- remove_user: Removes a user.
DELETE FROM admin_user WHERE name = :name RETURNING 1;

-- end_sessions: Ends the sessions of a user.
DELETE FROM admin_session WHERE {user_column} = :name;

-- forget_sessions: Deletes the sessions that have expired.
DELETE FROM admin_session WHERE expires <= :now;

-- add_session: A new session.
INSERT INTO admin_session (digest, {user_column}, csrf, created, expires, used)
VALUES (:digest, :user, :csrf, :created, :expires, :used);

-- session: A session that has not expired, with its user.
SELECT s.digest, s.{user_column}, s.csrf, s.created, s.expires, s.used, u.name, u.password_hash, u.role, u.created,
    EXISTS (SELECT 1 FROM admin_factor AS f WHERE f.{user_column} = u.name)
FROM admin_session AS s JOIN admin_user AS u ON u.name = s.{user_column}
WHERE s.digest = :digest AND s.expires > :now;

-- use_session: Notes the time of the last action in a session.
UPDATE admin_session SET used = :now WHERE digest = :digest AND used < :now;

-- close_session: Ends a session.
DELETE FROM admin_session WHERE digest = :digest;

-- add_token: Adds a token; no row if the id exists.
INSERT INTO admin_token (id, name, digest, scopes, created, revoked, expires)
VALUES (:id, :name, :digest, :scopes, :created, :revoked, :expires) ON CONFLICT DO NOTHING RETURNING 1;

-- tokens: All tokens in the order of their creation, revoked tokens included.
SELECT id, name, digest, scopes, created, revoked, expires, used FROM admin_token ORDER BY created, id {bytewise};

-- token: The token with a digest, unless it is revoked.
SELECT id, name, digest, scopes, created, revoked, expires, used FROM admin_token WHERE digest = :digest AND revoked IS NULL;

-- revoke_token: Revokes a token that is not revoked.
UPDATE admin_token SET revoked = :now WHERE id = :token AND revoked IS NULL RETURNING 1;

-- next_deed: Takes the next key, and locks out other writers until the commit. Returns the hash of the previous entry.
UPDATE deed_head SET key = key + 1 RETURNING key, hash;

-- append_deed: Adds an entry. Entries are never changed or deleted.
INSERT INTO deed (key, at, actor, action, target, details, address, hash)
VALUES (:key, :at, :actor, :action, :target, :details, :address, :hash);

-- end_deeds: Makes the last entry the end of the log.
UPDATE deed_head SET hash = :hash;

-- deed_head: The end of the log.
SELECT key, hash FROM deed_head;

-- deed_links: Stored entries after a key, the oldest first.
SELECT key, at, actor, action, target, details, address, hash FROM deed WHERE key > :after ORDER BY key LIMIT :limit;

-- deeds: The newest entries before a key, by actor, prefix of the action, and target; '' is any.
SELECT at, actor, action, target, details, address, key FROM deed
WHERE key < :before AND (:actor = '' OR actor = :actor)
  AND (:action = '' OR substr(action, 1, length(:action)) = :action)
  AND (:target = '' OR target = :target)
ORDER BY key DESC LIMIT :limit;
