-- Those who run the gateway: how they sign in, what they may do, and what they did.

CREATE TABLE admin_user (
    name          TEXT PRIMARY KEY,
    password_hash TEXT NOT NULL,
    role          TEXT NOT NULL,
    created       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE admin_session (
    digest  BLOB PRIMARY KEY,
    user    TEXT NOT NULL,
    csrf    TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE admin_token (
    id      TEXT PRIMARY KEY,
    name    TEXT NOT NULL,
    digest  BLOB NOT NULL UNIQUE,
    scopes  TEXT NOT NULL,  -- JSON array
    created INTEGER NOT NULL,
    revoked INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE deed (
    key     INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    actor   TEXT NOT NULL,
    action  TEXT NOT NULL,
    target  TEXT NOT NULL,
    details TEXT NOT NULL,  -- JSON object
    address TEXT NOT NULL
) STRICT;

CREATE TRIGGER deed_stays BEFORE UPDATE ON deed BEGIN
    SELECT raise(ABORT, 'the audit log is only ever added to');
END;

CREATE TRIGGER deed_stays_there BEFORE DELETE ON deed BEGIN
    SELECT raise(ABORT, 'the audit log is only ever added to');
END;

-- For people who search. The path of an ordinary message does not touch them: nothing here holds a row of state 1.
CREATE INDEX message_cancelled ON message (account, time) WHERE state = 2;
CREATE INDEX message_state ON message (state) WHERE state <> 1;
