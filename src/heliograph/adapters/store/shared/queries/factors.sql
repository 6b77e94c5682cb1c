-- factors: The second factors of a user, the oldest first.
SELECT {user_column}, id, title, secret, counter, created, used, kind FROM admin_factor
WHERE {user_column} = :name ORDER BY created, id {bytewise};

-- add_factor: Adds a second factor; no row if the id exists.
INSERT INTO admin_factor ({user_column}, id, kind, title, secret, counter, created)
VALUES (:name, :id, :kind, :title, :secret, :counter, :created) ON CONFLICT DO NOTHING RETURNING 1;

-- remove_factor: Removes a second factor.
DELETE FROM admin_factor WHERE {user_column} = :name AND id = :id RETURNING 1;

-- remove_factors: Removes all second factors of a user.
DELETE FROM admin_factor WHERE {user_column} = :name RETURNING 1;

-- advance_factor: Sets the last used counter, if it is above the present value.
UPDATE admin_factor SET counter = :counter, used = :now
WHERE {user_column} = :name AND id = :id AND counter < :counter RETURNING 1;

-- add_recovery_code: A recovery code.
INSERT INTO admin_recovery_code ({user_column}, digest) VALUES (:name, :digest) ON CONFLICT DO NOTHING;

-- use_recovery_code: Uses up a recovery code.
DELETE FROM admin_recovery_code WHERE {user_column} = :name AND digest = :digest RETURNING 1;

-- recovery_codes: Number of a user's recovery codes.
SELECT count(*) FROM admin_recovery_code WHERE {user_column} = :name;

-- remove_recovery_codes: Removes the recovery codes of a user.
DELETE FROM admin_recovery_code WHERE {user_column} = :name;
