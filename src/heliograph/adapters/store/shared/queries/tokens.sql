-- add_token: A new token; no row where one of the id is there.
INSERT INTO admin_token (id, name, digest, scopes, created, revoked)
VALUES (:id, :name, :digest, :scopes, :created, :revoked) ON CONFLICT DO NOTHING RETURNING 1;

-- tokens: All of them in the order of their making, revoked ones included.
SELECT id, name, digest, scopes, created, revoked FROM admin_token ORDER BY created, id {bytewise};

-- token: The token of a digest, unless it is revoked.
SELECT id, name, digest, scopes, created, revoked FROM admin_token WHERE digest = :digest AND revoked IS NULL;

-- revoke_token: Revokes a token that is not revoked.
UPDATE admin_token SET revoked = :now WHERE id = :token AND revoked IS NULL RETURNING 1;
