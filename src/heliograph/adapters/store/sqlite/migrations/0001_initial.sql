-- Times are milliseconds since the Unix epoch, UTC; money is micro-credits. A `key` ascends with time (domain.ids),
-- so that each table of the hot path grows at its end. Facts are inserted, not updated; what is to be done is what
-- is missing above a mark (app.marks), or what a slow table holds below it.

-- accounts and money

CREATE TABLE account (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    name             TEXT NOT NULL UNIQUE,
    password_hash    TEXT NOT NULL,
    signing_secret   BLOB NOT NULL,
    timezone         TEXT NOT NULL,
    plan             TEXT NOT NULL,
    credit_limit     INTEGER NOT NULL,
    suspended        INTEGER NOT NULL,
    list_interval    REAL,
    rate             REAL NOT NULL,
    callback_url     TEXT NOT NULL,
    callback_format  TEXT NOT NULL,
    content_decoding TEXT NOT NULL,
    networks         TEXT NOT NULL,  -- JSON array
    senders          TEXT NOT NULL,  -- JSON array
    created          INTEGER NOT NULL,
    balance          INTEGER NOT NULL DEFAULT 0,
    last_list        INTEGER         -- when the last list query was admitted
) STRICT;

CREATE TABLE api_key (
    account INTEGER NOT NULL,
    id      TEXT NOT NULL,
    digest  BLOB NOT NULL,
    created INTEGER NOT NULL,
    revoked INTEGER,
    PRIMARY KEY (account, id)
) STRICT, WITHOUT ROWID;

-- A charge has the key of its message, or of its batch. Other entries have keys made from their time, with the
-- worker bits all set. An entry of 0 is not written.
CREATE TABLE ledger (
    account INTEGER NOT NULL,
    key     INTEGER NOT NULL,
    kind    INTEGER NOT NULL,  -- 0 charge, 1 refund, 2 top-up
    amount  INTEGER NOT NULL,
    message INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    note    TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (account, key, kind)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX ledger_refund ON ledger (message) WHERE kind = 1;

CREATE TABLE price (
    plan   TEXT NOT NULL,
    prefix TEXT NOT NULL,
    price  INTEGER NOT NULL,
    PRIMARY KEY (plan, prefix)
) STRICT, WITHOUT ROWID;

-- connectors and routes

CREATE TABLE connector (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT NOT NULL UNIQUE,
    host      TEXT NOT NULL,
    port      INTEGER NOT NULL,
    system_id TEXT NOT NULL,
    password  TEXT NOT NULL,
    bind      TEXT NOT NULL,
    binds     INTEGER NOT NULL,
    "window"  INTEGER NOT NULL,
    rate      REAL NOT NULL,
    tls       INTEGER NOT NULL,
    enabled   INTEGER NOT NULL,
    options   TEXT NOT NULL,  -- JSON object
    created   INTEGER NOT NULL
) STRICT;

CREATE TABLE route (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    prefix    TEXT NOT NULL,
    connector INTEGER NOT NULL,
    priority  INTEGER NOT NULL,
    UNIQUE (prefix, connector, priority)
) STRICT;

CREATE TABLE link_state (
    connector INTEGER NOT NULL,
    node      INTEGER NOT NULL,
    state     TEXT NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (connector, node)
) STRICT, WITHOUT ROWID;

-- messages

CREATE TABLE message (
    key           INTEGER PRIMARY KEY,
    tail          INTEGER NOT NULL,
    account       INTEGER NOT NULL,
    destination   TEXT NOT NULL,
    sender        TEXT NOT NULL,
    kind          INTEGER NOT NULL,
    content       TEXT NOT NULL,
    segments      INTEGER NOT NULL,
    price         INTEGER NOT NULL,
    time          INTEGER NOT NULL,
    expires       INTEGER NOT NULL,
    state         INTEGER NOT NULL,  -- domain.message.State
    connector     INTEGER NOT NULL,
    wants_receipt INTEGER NOT NULL,
    callback_url  TEXT NOT NULL,
    reference     TEXT NOT NULL,     -- '' where none was given
    batch         INTEGER NOT NULL
) STRICT;

-- Pages of a list are read in the order of these; both end with the key. The states are Sent and Failed, Scheduled.
CREATE INDEX message_listed ON message (account, time) WHERE state IN (1, 3);
CREATE INDEX message_scheduled ON message (account, time) WHERE state = 0;

-- The messages of a batch have keys above its own, up to `last_key`.
CREATE TABLE batch (
    key       INTEGER PRIMARY KEY,
    tail      INTEGER NOT NULL,
    account   INTEGER NOT NULL,
    last_key  INTEGER NOT NULL,
    reference TEXT,
    total     INTEGER NOT NULL
) STRICT;

-- Requests that gave a reference, with what is needed to answer them once more.
CREATE TABLE reference (
    account     INTEGER NOT NULL,
    reference   TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    key         INTEGER NOT NULL,
    batch       INTEGER NOT NULL,  -- 1: the key is a batch's
    scheduled   INTEGER NOT NULL,
    PRIMARY KEY (account, reference)
) STRICT, WITHOUT ROWID;

-- what became of them

CREATE TABLE sent (
    key         INTEGER NOT NULL,
    segment     INTEGER NOT NULL,
    connector   INTEGER NOT NULL,
    operator_id TEXT NOT NULL,
    status      INTEGER NOT NULL,  -- 0: taken; else refused for good
    at          INTEGER NOT NULL,
    PRIMARY KEY (key, segment)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt (
    key       INTEGER NOT NULL,
    segment   INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    connector INTEGER NOT NULL,
    status    INTEGER NOT NULL,  -- -1: no answer
    PRIMARY KEY (key, segment, at, connector, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE part_receipt (
    key     INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    state   INTEGER NOT NULL,
    err     TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (key, segment)
) STRICT, WITHOUT ROWID;

-- Receipts of states that are not final.
CREATE TABLE progress (
    key     INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    state   INTEGER NOT NULL,
    err     TEXT NOT NULL,
    PRIMARY KEY (key, segment, at, state)
) STRICT, WITHOUT ROWID;

-- Nothing comes after a final: a cancelled message has one too, without a state.
CREATE TABLE final (
    key   INTEGER PRIMARY KEY,
    state INTEGER,
    err   TEXT NOT NULL,
    at    INTEGER NOT NULL,
    owed  INTEGER NOT NULL
) STRICT;

CREATE TABLE callback (
    key      INTEGER PRIMARY KEY,
    "end"    INTEGER NOT NULL,  -- app.facts.CallbackEnd
    code     INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    at       INTEGER NOT NULL
) STRICT;

CREATE INDEX callback_failed ON callback (key) WHERE "end" <> 0;

-- the slow tables: `node` is who has claimed the row

CREATE TABLE queue (
    key       INTEGER PRIMARY KEY,
    connector INTEGER NOT NULL,
    due       INTEGER NOT NULL,
    expires   INTEGER NOT NULL,
    attempted INTEGER NOT NULL,
    node      INTEGER
) STRICT;

CREATE INDEX queue_due ON queue (connector, due) WHERE node IS NULL;
CREATE INDEX queue_expires ON queue (expires) WHERE node IS NULL;

CREATE TABLE awaiting (
    connector   INTEGER NOT NULL,
    operator_id TEXT NOT NULL,
    key         INTEGER NOT NULL,
    segment     INTEGER NOT NULL,
    PRIMARY KEY (connector, operator_id, key, segment)
) STRICT, WITHOUT ROWID;

CREATE INDEX awaiting_key ON awaiting (key, segment);

CREATE TABLE early (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    connector   INTEGER NOT NULL,
    operator_id TEXT NOT NULL,
    destination TEXT NOT NULL,
    state       INTEGER NOT NULL,
    err         TEXT NOT NULL,
    at          INTEGER NOT NULL
) STRICT;

CREATE INDEX early_operator_id ON early (connector, operator_id);

-- A callback that ended undelivered keeps its row, without `due`, so that a replay sends the same octets.
CREATE TABLE callback_retry (
    key      INTEGER PRIMARY KEY,
    due      INTEGER,
    attempts INTEGER NOT NULL,
    body     BLOB NOT NULL,
    problem  TEXT NOT NULL,
    "first"  INTEGER NOT NULL,  -- when it was first owed, or replayed
    node     INTEGER
) STRICT;

CREATE INDEX callback_retry_due ON callback_retry (due) WHERE node IS NULL AND due IS NOT NULL;

-- single values

CREATE TABLE mark (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE revision (value INTEGER NOT NULL) STRICT;
INSERT INTO revision VALUES (0);

CREATE TABLE probe (count INTEGER NOT NULL) STRICT;
INSERT INTO probe VALUES (0);
