-- The schema of the embedded store, as it is now. A new file is made by it; what changes afterwards is changed here
-- and, for files that are in use, in a numbered file of the folder `migrations`.
--
-- Times are milliseconds since the Unix epoch, UTC. Money is micro-credits. The `key` of a message ascends with its
-- time (domain.ids), so that each table of the hot path grows at its end. Facts are inserted, not updated. What is to
-- be done is what is missing above a mark (app.marks), or what a slow table holds below it. Words in braces are members
-- of the domain's enums; their numbers are filled in when this file is read.

-- accounts and money

CREATE TABLE account (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    name             TEXT NOT NULL UNIQUE,
    password_hash    TEXT NOT NULL,
    signing_secret   BLOB NOT NULL,            -- signs its callbacks
    timezone         TEXT NOT NULL,
    plan             TEXT NOT NULL,            -- price.plan
    credit_limit     INTEGER NOT NULL,         -- how far below 0 the balance may go
    suspended        INTEGER NOT NULL,
    list_interval    REAL,                     -- seconds between two lists; NULL: as configured
    rate             REAL NOT NULL,            -- messages a second; 0: as many as come
    callback_url     TEXT NOT NULL,            -- '' where requests name their own, or none
    callback_format  TEXT NOT NULL,
    content_decoding TEXT NOT NULL,
    networks         TEXT NOT NULL,            -- JSON array: where its requests may come from; empty: anywhere
    senders          TEXT NOT NULL,            -- JSON array: whose name they may send in; empty: anybody's
    inbound_url      TEXT NOT NULL,            -- '' where inbound messages are not pushed
    inbound_reply    TEXT NOT NULL,            -- off, body: whether the text of the answer is sent to the phone
    opt_out          TEXT NOT NULL,            -- whether a STOP is acted on
    stop_text        TEXT NOT NULL,            -- confirms a STOP; '': nothing does
    help_text        TEXT NOT NULL,            -- answers HELP
    smart            TEXT NOT NULL,            -- off, on: whether typographic signs may be replaced
    request_rate     REAL NOT NULL,            -- requests a second; 0: as many as come
    request_burst    INTEGER NOT NULL,         -- requests at once; 0: a second's worth
    daily_messages   INTEGER NOT NULL,         -- messages a day; 0: as many as come
    daily_spend      INTEGER NOT NULL,         -- charges a day; 0: as far as the balance goes
    max_waiting      INTEGER NOT NULL,         -- messages in the queue at once; 0: as many as come
    prefixes         TEXT NOT NULL,            -- JSON array: where it may send to; empty: anywhere
    guard            TEXT NOT NULL,            -- auto, on, off: whether the pumping guard watches it
    used_until       INTEGER NOT NULL DEFAULT 0,  -- the end of the day that the next two are of
    used_messages    INTEGER NOT NULL DEFAULT 0,
    used_spend       INTEGER NOT NULL DEFAULT 0,
    used_waiting     INTEGER NOT NULL DEFAULT 0,  -- no fewer than wait in the queue
    retain_text_days   REAL,                   -- days until texts are redacted; NULL: as configured, 0: never
    retain_number_days REAL,
    retain_days        REAL,                   -- days until rows are dropped
    inbound_way      TEXT NOT NULL,            -- auto, webhook, bind
    smpp_system_id   TEXT NOT NULL,            -- name that SMPP clients bind with beside its own
    smpp             TEXT NOT NULL,            -- JSON: terms for SMPP clients, as far as they are not the usual ones
    suppressed       INTEGER NOT NULL DEFAULT 0,  -- 1: it has suppressions
    created          INTEGER NOT NULL,
    balance          INTEGER NOT NULL DEFAULT 0,
    last_list        INTEGER                   -- when the last list was admitted
) STRICT;

CREATE UNIQUE INDEX account_system_id ON account (smpp_system_id) WHERE smpp_system_id <> '';

CREATE TABLE api_key (
    account INTEGER NOT NULL,
    id      TEXT NOT NULL,
    digest  BLOB NOT NULL,
    created INTEGER NOT NULL,
    revoked INTEGER,
    expires INTEGER,
    used    INTEGER,                           -- when it was used, at most an hour before the last time
    PRIMARY KEY (account, id)
) STRICT, WITHOUT ROWID;

-- Every change of a balance. A charge has the key of its message, or of its batch; that of an inbound message the message's
-- position. Other entries have keys made from their time, with the worker bits all set. An entry of 0 is not written.
CREATE TABLE ledger (
    account INTEGER NOT NULL,
    key     INTEGER NOT NULL,
    kind    INTEGER NOT NULL,                  -- EntryKind
    amount  INTEGER NOT NULL,
    message INTEGER NOT NULL,                  -- what it is for: a message of either way, or a batch; 0 for a top-up
    at      INTEGER NOT NULL,
    note    TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (account, key, kind)
) STRICT, WITHOUT ROWID;

-- No message is refunded twice.
CREATE UNIQUE INDEX ledger_refund ON ledger (message) WHERE kind = {EntryKind.REFUND};

-- What a segment to a destination with this prefix costs, and a message from such a phone. The longest prefix counts
-- of those that have a price by then, and of its prices the latest.
CREATE TABLE price (
    plan    TEXT NOT NULL,
    prefix  TEXT NOT NULL,
    since   INTEGER NOT NULL,                  -- from when on it holds; 0: from the beginning
    price   INTEGER NOT NULL,
    inbound INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (plan, prefix, since)
) STRICT, WITHOUT ROWID;

-- connectors and routes

CREATE TABLE connector (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT NOT NULL UNIQUE,
    kind      TEXT NOT NULL,
    binds     INTEGER NOT NULL,
    "window"  INTEGER NOT NULL,
    rate      REAL NOT NULL,
    enabled   INTEGER NOT NULL,
    settings  TEXT NOT NULL,                   -- JSON object: what belongs to the kind
    created   INTEGER NOT NULL
) STRICT;

CREATE TABLE route (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    prefix    TEXT NOT NULL,
    connector INTEGER NOT NULL,
    priority  INTEGER NOT NULL,
    UNIQUE (prefix, connector, priority)
) STRICT;

-- Whose inbound messages are.
CREATE TABLE number (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    number    TEXT NOT NULL,                   -- the destination address that the operator gives
    keyword   TEXT NOT NULL,                   -- the text's first word; '': any other
    connector INTEGER NOT NULL,                -- 0: any
    account   INTEGER NOT NULL,
    UNIQUE (number, keyword, connector)
) STRICT;

-- Texts that a registry of operators has.
CREATE TABLE template (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    name    TEXT NOT NULL UNIQUE,
    text    TEXT NOT NULL,
    sender  TEXT NOT NULL,                     -- '': any
    account INTEGER NOT NULL,                  -- 0: any
    tlvs    TEXT NOT NULL                      -- JSON object: values by name
) STRICT;

-- Sender IDs of accounts that have a registry: only approved ones may be used.
CREATE TABLE sender (
    account INTEGER NOT NULL,
    sender  TEXT NOT NULL,
    state   TEXT NOT NULL,                     -- domain.limits.gate.SenderState
    since   INTEGER NOT NULL,
    note    TEXT NOT NULL,
    PRIMARY KEY (account, sender)
) STRICT, WITHOUT ROWID;

-- SMPP binds of customers, over all nodes. A row whose time is old is that of a node that is gone.
CREATE TABLE customer_bind (
    id      INTEGER PRIMARY KEY,               -- random
    account INTEGER NOT NULL,
    node    INTEGER NOT NULL,
    at      INTEGER NOT NULL,                  -- when its node reported it last
    dropped INTEGER NOT NULL DEFAULT 0,        -- 1: its node is to unbind it
    state   TEXT NOT NULL                      -- JSON: app.records.CustomerBind
) STRICT;

CREATE INDEX customer_bind_account ON customer_bind (account);

-- What watched accounts sent to ranges of numbers, an hour each (domain.pumping.TrafficCount).
CREATE TABLE traffic_hour (
    account  INTEGER NOT NULL,
    prefix   TEXT NOT NULL,
    hour     INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    near     INTEGER NOT NULL,
    ended    INTEGER NOT NULL,
    failed   INTEGER NOT NULL,
    PRIMARY KEY (account, prefix, hour)
) STRICT, WITHOUT ROWID;

CREATE INDEX traffic_hour_hour ON traffic_hour (hour);

-- Ranges of numbers to which an account's messages are held.
CREATE TABLE traffic_hold (
    account INTEGER NOT NULL,
    prefix  TEXT NOT NULL,
    since   INTEGER NOT NULL,
    ended   INTEGER,                           -- NULL while it holds
    why     TEXT NOT NULL,
    PRIMARY KEY (account, prefix)
) STRICT, WITHOUT ROWID;

-- Numbers that an account must not send to. The digest is there even where the number was erased.
CREATE TABLE suppression (
    account INTEGER NOT NULL,
    digest  BLOB NOT NULL,                     -- domain.suppression
    number  TEXT NOT NULL,                     -- '' once it was erased
    since   INTEGER NOT NULL,
    source  TEXT NOT NULL,
    PRIMARY KEY (account, digest)
) STRICT, WITHOUT ROWID;

CREATE INDEX suppression_number ON suppression (account, number) WHERE number <> '';
CREATE INDEX suppression_since ON suppression (since);

-- The key of the digests, made once for good.
CREATE TABLE suppression_key (key BLOB NOT NULL) STRICT;
INSERT INTO suppression_key (key) VALUES (randomblob(32));

-- Requests of customers that were refused: how many within the hour that begins at `hour`.
CREATE TABLE refusal_count (
    account  INTEGER NOT NULL,
    reason   TEXT NOT NULL,                    -- domain.error.Reason
    hour     INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    latest   INTEGER NOT NULL,
    PRIMARY KEY (account, reason, hour)
) STRICT, WITHOUT ROWID;

CREATE INDEX refusal_count_hour ON refusal_count (hour);

-- The last of each account and reason; app.observing.refusals.KEPT of them.
CREATE TABLE refused_request (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    account    INTEGER NOT NULL,
    reason     TEXT NOT NULL,
    at         INTEGER NOT NULL,
    status     INTEGER NOT NULL,
    method     TEXT NOT NULL,
    path       TEXT NOT NULL,
    field      TEXT NOT NULL,                  -- '' where none was at fault
    message    TEXT NOT NULL,
    address    TEXT NOT NULL,
    request_id TEXT NOT NULL
) STRICT;

CREATE INDEX refused_request_kind ON refused_request (account, reason, id);
CREATE INDEX refused_request_at ON refused_request (at);

-- What happened in each minute, hour and day in which something did. What a cell has is said in domain.series.
CREATE TABLE series (
    grain       INTEGER NOT NULL,              -- Grain
    start       INTEGER NOT NULL,
    account     INTEGER NOT NULL,
    connector   INTEGER NOT NULL,
    country     TEXT NOT NULL,
    accepted    INTEGER NOT NULL,
    segments    INTEGER NOT NULL,
    submitted   INTEGER NOT NULL,
    delivered   INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    cancelled   INTEGER NOT NULL,
    inbound     INTEGER NOT NULL,
    refused     INTEGER NOT NULL,
    spend       INTEGER NOT NULL,
    failures    TEXT NOT NULL,                 -- JSON object: counts by state and code; '' for none
    refusals    TEXT NOT NULL,                 -- JSON object: counts by reason; '' for none
    to_operator BLOB NOT NULL,                 -- domain.sketch
    to_receipt  BLOB NOT NULL,
    PRIMARY KEY (grain, start, account, connector, country)
) STRICT, WITHOUT ROWID;

-- Messages for series to count from their rows: cancelled ones, and the replies to phones.
CREATE TABLE series_owed (
    id  INTEGER PRIMARY KEY,
    key INTEGER NOT NULL,
    at  INTEGER NOT NULL                        -- when it ended; 0: it was accepted
) STRICT;

-- Each change of the tables above that a running gateway has to hear of counts one up.
CREATE TABLE revision (value INTEGER NOT NULL) STRICT;
INSERT INTO revision VALUES (0);

CREATE TABLE link_state (
    connector INTEGER NOT NULL,
    node      INTEGER NOT NULL,
    state     TEXT NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (connector, node)
) STRICT, WITHOUT ROWID;

-- The keys that texts are sealed with, wrapped by the master key. The newest counts from `since` on; where its secret
-- is x'', texts are written plain.
CREATE TABLE data_key (
    number  INTEGER PRIMARY KEY,
    wrapped BLOB NOT NULL,
    since   INTEGER NOT NULL
) STRICT;

-- How far the rows that were written before the newest key are sealed anew: one row, or none when all are.
CREATE TABLE resealing (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    stage  INTEGER NOT NULL,                   -- place in shared/sealed_rows.py's list of tables
    after  TEXT NOT NULL,                      -- key of the last row of its table, '' before the first
    sealed INTEGER NOT NULL                    -- rows so far
) STRICT;

-- messages

CREATE TABLE message (
    key           INTEGER PRIMARY KEY,
    tail          INTEGER NOT NULL,            -- the rest of its id
    account       INTEGER NOT NULL,
    destination   TEXT NOT NULL,               -- '' once it was redacted
    sender        TEXT NOT NULL,
    kind          INTEGER NOT NULL,            -- Kind
    content       ANY NOT NULL,                -- text; an envelope in an encrypted store
    segments      INTEGER NOT NULL,
    price         INTEGER NOT NULL,            -- of all segments
    time          INTEGER NOT NULL,            -- when it is to be sent
    expires       INTEGER NOT NULL,
    state         INTEGER NOT NULL,            -- State
    connector     INTEGER NOT NULL,
    wants_receipt INTEGER NOT NULL,
    way           INTEGER NOT NULL,            -- Way by which its states are told
    callback_url  TEXT NOT NULL,
    reference     TEXT NOT NULL,               -- '' where none was given
    batch         INTEGER NOT NULL,            -- the key of its batch, or 0
    extras        TEXT NOT NULL                -- JSON of domain.extras; '' for nearly all
) STRICT;

-- Pages of a customer's list are read in the order of these; all of them end with the key.
CREATE INDEX message_listed ON message (account, time) WHERE state IN {LISTED};
CREATE INDEX message_scheduled ON message (account, time) WHERE state = {State.SCHEDULED};
CREATE INDEX message_cancelled ON message (account, time) WHERE state = {State.CANCELLED};

-- For users who search. The path of an ordinary message does not touch it.
CREATE INDEX message_state ON message (state) WHERE state <> {State.SENT};

-- The messages of a batch have keys above its own, up to `last_key`.
CREATE TABLE batch (
    key       INTEGER PRIMARY KEY,
    tail      INTEGER NOT NULL,
    account   INTEGER NOT NULL,
    last_key  INTEGER NOT NULL,
    reference TEXT,
    total     INTEGER NOT NULL,                -- what it was charged
    dropped   INTEGER NOT NULL DEFAULT 0       -- what those of its messages cost that retention dropped
) STRICT;

-- Requests that gave a reference, with what is needed to answer them once more.
CREATE TABLE reference (
    account     INTEGER NOT NULL,
    reference   TEXT NOT NULL,
    fingerprint BLOB NOT NULL,                 -- of the request: another one with the same reference is a conflict
    key         INTEGER NOT NULL,
    batch       INTEGER NOT NULL,              -- 1: the key is a batch's
    scheduled   INTEGER NOT NULL,
    PRIMARY KEY (account, reference)
) STRICT, WITHOUT ROWID;
CREATE INDEX reference_of_submission ON reference (account, key) WHERE substr(reference, 1, 5) = 'smpp:';

-- When scheduled messages were given another time, and which they had: app.facts.MOST_MOVES of a message are kept.
CREATE TABLE moved (
    key  INTEGER NOT NULL,
    at   INTEGER NOT NULL,
    was  INTEGER NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (key, at)
) STRICT, WITHOUT ROWID;

-- what became of them

-- Parts that an operator took, or refused for good.
CREATE TABLE sent (
    key         INTEGER NOT NULL,
    segment     INTEGER NOT NULL,
    connector   INTEGER NOT NULL,
    operator_id TEXT NOT NULL,
    status      INTEGER NOT NULL,              -- 0: taken; else command_status, or app.facts.NO_ANSWER, NOT_SENT
    at          INTEGER NOT NULL,
    PRIMARY KEY (key, segment)
) STRICT, WITHOUT ROWID;

-- Tries that did not decide: the part was sent again.
CREATE TABLE attempt (
    key       INTEGER NOT NULL,
    segment   INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    connector INTEGER NOT NULL,
    status    INTEGER NOT NULL,                -- command_status; app.facts.NO_ANSWER
    PRIMARY KEY (key, segment, at, connector, status)
) STRICT, WITHOUT ROWID;

-- Final receipts, a part each.
CREATE TABLE part_receipt (
    key     INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    state   INTEGER NOT NULL,                  -- Delivery
    err     TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (key, segment)
) STRICT, WITHOUT ROWID;

-- Receipts of states that are not final: app.facts.MOST_PROGRESS of a part are kept.
CREATE TABLE progress (
    key     INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    state   INTEGER NOT NULL,                  -- Delivery
    err     TEXT NOT NULL,
    PRIMARY KEY (key, segment, at, state)
) STRICT, WITHOUT ROWID;

-- The end of a message. Nothing comes after it.
CREATE TABLE final (
    key   INTEGER PRIMARY KEY,
    state INTEGER,                             -- Delivery; NULL for a cancelled message
    err   TEXT NOT NULL,
    at    INTEGER NOT NULL,
    owed  INTEGER NOT NULL                     -- 1: a callback is owed for it
) STRICT;

-- Few messages end otherwise than delivered.
CREATE INDEX final_undelivered ON final (key) WHERE state <> {Delivery.DELIVRD};

-- Callbacks that have come to an end.
CREATE TABLE callback (
    key      INTEGER PRIMARY KEY,
    "end"    INTEGER NOT NULL,                 -- CallbackEnd
    code     INTEGER NOT NULL,                 -- the last HTTP status; 0 without an answer
    attempts INTEGER NOT NULL,
    at       INTEGER NOT NULL
) STRICT;

CREATE INDEX callback_failed ON callback (key) WHERE "end" <> {CallbackEnd.DELIVERED};

-- messages from phones

CREATE TABLE inbound (
    key       INTEGER PRIMARY KEY,             -- of the messages' sequence
    tail      INTEGER NOT NULL,
    account   INTEGER NOT NULL,                -- 0: unrouted
    connector INTEGER NOT NULL,
    sender    TEXT NOT NULL,
    recipient TEXT NOT NULL,
    keyword   TEXT NOT NULL,                   -- that of the rule that found the account
    content   ANY NOT NULL,                    -- as a message's
    octets    BLOB NOT NULL,                   -- without headers
    coding    INTEGER NOT NULL,                -- data_coding; domain.retention.REDACTED_CODING once content was redacted
    parts     INTEGER NOT NULL,
    complete  INTEGER NOT NULL,                -- 0: parts never came
    at        INTEGER NOT NULL,
    way       INTEGER NOT NULL,                -- Way by which its account is told of it
    price     INTEGER NOT NULL,                -- what its account was charged for it
    wish      INTEGER NOT NULL,                -- Wish
    replied   INTEGER NOT NULL,                -- the message that the gateway answered with; 0: none
    position  INTEGER NOT NULL,                -- among its account's: ascends in the order in which these became its own
    problem   TEXT NOT NULL DEFAULT ''         -- why the reply to it was not sent, if it was not
) STRICT;

CREATE INDEX inbound_account ON inbound (account, key);
CREATE INDEX inbound_position ON inbound (account, position);
-- the sums: see the statement `inbound_numbered`
CREATE INDEX inbound_sender ON inbound (sender, key + 0, account);
CREATE INDEX inbound_recipient ON inbound (recipient, key + 0, account);
CREATE INDEX inbound_replied ON inbound (replied) WHERE replied <> 0;

-- Those whose acknowledgement was not written, as far as anybody knows: what equals one of them may be a repeat.
CREATE TABLE inbound_unanswered (
    key       INTEGER PRIMARY KEY,
    connector INTEGER NOT NULL,
    digest    INTEGER NOT NULL,                -- of the octets as they came
    node      INTEGER NOT NULL,                -- who has the link that it came over
    lost      INTEGER NOT NULL,                -- 1: that link is gone
    at        INTEGER NOT NULL
) STRICT;

CREATE INDEX inbound_unanswered_digest ON inbound_unanswered (connector, digest);

-- the slow tables: what is to be done later. `node` is who has claimed the row

-- Parts that wait for the others of their message; joined ones stay a while, to tell repeats.
CREATE TABLE inbound_part (
    connector  INTEGER NOT NULL,
    sender     TEXT NOT NULL,
    recipient  TEXT NOT NULL,
    reference  INTEGER NOT NULL,
    total      INTEGER NOT NULL,
    number     INTEGER NOT NULL,               -- from 1
    coding     INTEGER NOT NULL,
    has_header INTEGER NOT NULL,
    octets     BLOB NOT NULL,
    at         INTEGER NOT NULL,
    joined     INTEGER NOT NULL DEFAULT 0,     -- the key of the message; 0: it waits
    node       INTEGER,
    PRIMARY KEY (connector, sender, recipient, reference, total, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX inbound_part_waiting ON inbound_part (at) WHERE joined = 0;
CREATE INDEX inbound_part_joined ON inbound_part (at) WHERE joined <> 0;

-- Messages to be sent: scheduled, deferred by an operator, or more than a lane holds.
CREATE TABLE queue (
    key       INTEGER PRIMARY KEY,
    connector INTEGER NOT NULL,
    due       INTEGER NOT NULL,
    expires   INTEGER NOT NULL,
    attempted INTEGER NOT NULL,                -- 1: a part may have been sent without an answer
    node      INTEGER,
    account   INTEGER NOT NULL,                -- an account's messages keep their order
    phone     TEXT NOT NULL,                   -- the message's destination
    put_off   INTEGER NOT NULL DEFAULT 0,      -- 1: an operator deferred it, or did not answer
    held      TEXT                             -- why it waits beyond `due`: '' its account is suspended, or the range
                                               -- of numbers that the traffic guard holds, such as '49170'
) STRICT;

CREATE INDEX queue_due ON queue (connector, due) WHERE node IS NULL AND held IS NULL;
CREATE INDEX queue_expires ON queue (expires) WHERE node IS NULL;
CREATE INDEX queue_account ON queue (connector, account, due) WHERE node IS NULL AND held IS NULL;
-- An opt-out ends what waits for a phone.
CREATE INDEX queue_phone ON queue (account, phone) WHERE node IS NULL;
CREATE INDEX queue_held ON queue (held, account) WHERE held IS NOT NULL AND node IS NULL;
-- How many were put off is asked often; there may be millions of scheduled ones beside them.
CREATE INDEX queue_put_off ON queue (due, connector) WHERE put_off = 1 AND node IS NULL;

-- Parts whose receipts are awaited, by the operator's id.
CREATE TABLE awaiting (
    connector   INTEGER NOT NULL,
    operator_id TEXT NOT NULL,
    key         INTEGER NOT NULL,
    segment     INTEGER NOT NULL,
    PRIMARY KEY (connector, operator_id, key, segment)
) STRICT, WITHOUT ROWID;

CREATE INDEX awaiting_key ON awaiting (key, segment);

-- Receipts that came before the answer to submit_sm, or that belong to no message.
CREATE TABLE early (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    connector   INTEGER NOT NULL,
    operator_id TEXT NOT NULL,
    destination TEXT NOT NULL,
    state       INTEGER NOT NULL,              -- Delivery
    err         TEXT NOT NULL,
    at          INTEGER NOT NULL
) STRICT;

CREATE INDEX early_operator_id ON early (connector, operator_id);

-- Notices that were not delivered at once. One that ended undelivered keeps its row, so that a replay sends the same
-- octets.
CREATE TABLE callback_retry (
    key      INTEGER PRIMARY KEY,
    account  INTEGER NOT NULL,
    due      INTEGER,                          -- NULL: it has ended
    attempts INTEGER NOT NULL,
    body     BLOB NOT NULL,                    -- '' before the first attempt
    problem  TEXT NOT NULL,                    -- why the last attempt failed
    "first"  INTEGER NOT NULL,                 -- when it was first owed, or replayed
    way      INTEGER NOT NULL,                 -- Way
    parked   INTEGER NOT NULL,                 -- 1: its account is out of reach; due is when its time is over
    node     INTEGER
) STRICT;

CREATE INDEX callback_retry_due ON callback_retry (due) WHERE node IS NULL AND due IS NOT NULL;
CREATE INDEX callback_retry_account ON callback_retry (account, due) WHERE node IS NULL AND due IS NOT NULL;
CREATE INDEX callback_retry_parked ON callback_retry (way, account, due)
WHERE parked <> 0 AND node IS NULL AND due IS NOT NULL;

CREATE TABLE mark (
    name  TEXT PRIMARY KEY,                    -- app.marks
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- users, and what they did

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
    expires INTEGER NOT NULL,
    used    INTEGER NOT NULL                   -- when the user last did something, within a minute
) STRICT, WITHOUT ROWID;

-- Second factors. Whoever reads the `secret` of an app can make its codes; that of a passkey is its public key.
CREATE TABLE admin_factor (
    user TEXT NOT NULL,                     -- admin_user.name
    id TEXT NOT NULL,
    kind TEXT NOT NULL,                       -- app, passkey
    title TEXT NOT NULL,                      -- what its user calls it
    secret BLOB NOT NULL,
    counter INTEGER NOT NULL,                   -- of an app the last step of time whose code was used; of a passkey when its last challenge was made
    created INTEGER NOT NULL,
    used INTEGER,
    PRIMARY KEY (user, id)
) STRICT, WITHOUT ROWID;

-- SHA-256 of the recovery codes that were not used.
CREATE TABLE admin_recovery_code (
    user TEXT NOT NULL,                     -- admin_user.name
    digest BLOB NOT NULL,
    PRIMARY KEY (user, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE admin_token (
    id      TEXT PRIMARY KEY,
    name    TEXT NOT NULL,
    digest  BLOB NOT NULL UNIQUE,
    scopes  TEXT NOT NULL,                     -- JSON array
    created INTEGER NOT NULL,
    revoked INTEGER,
    expires INTEGER,
    used    INTEGER                            -- as of api_key
) STRICT, WITHOUT ROWID;

-- Failures to sign in, so many of a name at a node within about a second. `name` is a keyed hash of who failed or of
-- where (app.sending.failure_register); rows stay for some minutes, of wrong codes a day.
CREATE TABLE sign_in_failure (
    at       INTEGER NOT NULL,
    node     INTEGER NOT NULL,
    door     TEXT NOT NULL,
    name     BLOB NOT NULL,
    failures INTEGER NOT NULL,
    PRIMARY KEY (at, node, door, name)
) STRICT, WITHOUT ROWID;

-- Places that somebody signed in from, hashed likewise.
CREATE TABLE sign_in_place (
    door TEXT NOT NULL,
    name BLOB NOT NULL,
    at   INTEGER NOT NULL,
    PRIMARY KEY (door, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_in_place_at ON sign_in_place (at);

-- The key of these hashes: one row, made by the first start.
CREATE TABLE sign_in_key (
    id  INTEGER PRIMARY KEY CHECK (id = 1),
    key BLOB NOT NULL
) STRICT;

-- The audit log. Keys have no gaps; `hash` is SHA-256 over the hash before and the line (domain.audit_chain).
CREATE TABLE deed (
    key     INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    actor   TEXT NOT NULL,
    action  TEXT NOT NULL,
    target  TEXT NOT NULL,
    details TEXT NOT NULL,                     -- JSON object
    address TEXT NOT NULL,
    hash    BLOB NOT NULL
) STRICT;

-- Its end: one row.
CREATE TABLE deed_head (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    key  INTEGER NOT NULL,                     -- of the last line, 0 for none
    hash BLOB NOT NULL
) STRICT;

INSERT INTO deed_head (id, key, hash) VALUES (1, 0, zeroblob(32));

CREATE TRIGGER deed_stays BEFORE UPDATE ON deed BEGIN
    SELECT raise(ABORT, 'the audit log is only ever added to');
END;

CREATE TRIGGER deed_stays_there BEFORE DELETE ON deed BEGIN
    SELECT raise(ABORT, 'the audit log is only ever added to');
END;

-- Destinations for users who search: some thousands of messages a block, sorted within it, made a while after the
-- messages were accepted (sqlite/numbers.py).
CREATE TABLE message_number (
    block  INTEGER NOT NULL,
    number TEXT NOT NULL,
    key    INTEGER NOT NULL,
    PRIMARY KEY (block, number, key)
) STRICT, WITHOUT ROWID;

-- A block holds every message from `first_key` to `last_key`; the next one begins where it ends.
CREATE TABLE number_block (
    block     INTEGER PRIMARY KEY,
    first_key INTEGER NOT NULL,
    last_key  INTEGER NOT NULL
) STRICT;

-- Of which accounts, connectors and senders a block has messages, how many, and from where to where: a search for what
-- is rare looks nowhere else.
CREATE TABLE block_content (
    block     INTEGER NOT NULL,
    account   INTEGER NOT NULL,
    connector INTEGER NOT NULL,
    sender    TEXT NOT NULL,                   -- in lower case
    first_key INTEGER NOT NULL,
    last_key  INTEGER NOT NULL,
    messages  INTEGER NOT NULL,
    PRIMARY KEY (block, account, connector, sender)
) STRICT, WITHOUT ROWID;

-- It is looked up by key where a message loses its number.
CREATE INDEX number_block_last ON number_block (last_key);

-- Retention: how far each account's messages were looked through, in the order of (time, key);
-- inbound ones in that of their keys alone.
CREATE TABLE retention (
    account INTEGER NOT NULL,                  -- 0: that of unrouted inbound messages
    stage   INTEGER NOT NULL,                  -- Stage
    inbound INTEGER NOT NULL,
    time    INTEGER NOT NULL,
    key     INTEGER NOT NULL,
    PRIMARY KEY (account, stage, inbound)
) STRICT, WITHOUT ROWID;

-- Messages behind that place that something was still owed for, and those to be erased once nothing is.
CREATE TABLE retention_kept (
    account INTEGER NOT NULL,
    stage   INTEGER NOT NULL,
    key     INTEGER NOT NULL,
    PRIMARY KEY (account, stage, key)
) STRICT, WITHOUT ROWID;

-- What the messages cost that were dropped, and what was given back for them: their entries of the ledger stay, and add
-- up to it.
CREATE TABLE dropped_money (
    account  INTEGER NOT NULL,
    kind     INTEGER NOT NULL,                 -- EntryKind
    entries  INTEGER NOT NULL,
    amount   INTEGER NOT NULL,
    last_key INTEGER NOT NULL,                 -- the highest key among the messages and batches
    PRIMARY KEY (account, kind)
) STRICT, WITHOUT ROWID;

-- Written to by a probe of whether the store can write.
CREATE TABLE probe (count INTEGER NOT NULL) STRICT;
INSERT INTO probe VALUES (0);
