-- The present schema of the embedded store. It makes a new file. A later change is made here and, for existing files,
-- in a numbered file of the folder `migrations`.
--
-- Times are milliseconds since the Unix epoch, UTC. Money is micro-credits. The `key` of a message ascends with its
-- time (domain.ids), so that each table of the hot path grows at its end. Facts are inserted, not updated. Pending work
-- is in the rows that are missing above a mark (app.marks), or in a slow table below it. Words in braces are members of
-- the domain's enums; their numbers are filled in when this file is read.

-- accounts and money

CREATE TABLE account (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    name             TEXT NOT NULL UNIQUE,
    password_hash    TEXT NOT NULL,
    signing_secret   BLOB NOT NULL,            -- signs its callbacks
    timezone         TEXT NOT NULL,
    plan             TEXT NOT NULL,            -- price.plan
    credit_limit     INTEGER NOT NULL,         -- how far below 0 the balance may go
    low_balance      INTEGER,                  -- balance below which the account is told; NULL: none
    low_balance_armed INTEGER NOT NULL DEFAULT 0,  -- 1: the balance has not fallen below it since the last top-up
    suspended        INTEGER NOT NULL,
    list_interval    REAL,                     -- seconds between two lists; NULL: as configured
    rate             REAL NOT NULL,            -- messages a second; 0: no limit
    callback_url     TEXT NOT NULL,            -- '': only requests name URLs
    callback_format  TEXT NOT NULL,
    receipt_fields   TEXT NOT NULL,            -- usual, full: which fields receipts have
    content_decoding TEXT NOT NULL,
    networks         TEXT NOT NULL,            -- JSON array: networks of allowed clients; empty: all
    senders          TEXT NOT NULL,            -- JSON array: allowed sender IDs; empty: all
    inbound_url      TEXT NOT NULL,            -- '': inbound messages are not pushed
    inbound_reply    TEXT NOT NULL,            -- off, body: whether the text of the webhook's answer is sent to the phone
    opt_out          TEXT NOT NULL,            -- whether a STOP has an effect
    stop_text        TEXT NOT NULL,            -- confirmation of a STOP; '': none
    help_text        TEXT NOT NULL,            -- answer to HELP
    smart            TEXT NOT NULL,            -- off, on: whether typographic signs may be replaced
    relaxed          TEXT NOT NULL,            -- off, on: whether requests may spell names and numbers otherwise
    request_rate     REAL NOT NULL,            -- requests a second; 0: no limit
    request_burst    INTEGER NOT NULL,         -- requests at once; 0: a second's worth
    daily_messages   INTEGER NOT NULL,         -- messages a day; 0: no limit
    daily_spend      INTEGER NOT NULL,         -- charges a day; 0: no limit
    max_waiting      INTEGER NOT NULL,         -- messages in the queue at once; 0: no limit
    prefixes         TEXT NOT NULL,            -- JSON array: prefixes of allowed destinations; empty: all
    guard            TEXT,                     -- mode of the pumping guard: observe, hold, off; NULL: the setting
    used_until       INTEGER NOT NULL DEFAULT 0,  -- the end of the day of the next two columns
    used_messages    INTEGER NOT NULL DEFAULT 0,
    used_spend       INTEGER NOT NULL DEFAULT 0,
    used_waiting     INTEGER NOT NULL DEFAULT 0,  -- at least the number of messages in the queue
    retain_text_days   REAL,                   -- days until texts are redacted; NULL: as configured, 0: never
    retain_number_days REAL,
    retain_days        REAL,                   -- days until rows are dropped
    inbound_way      TEXT NOT NULL,            -- auto, webhook, bind
    smpp_system_id   TEXT NOT NULL,            -- additional name that SMPP clients bind with
    smpp             TEXT NOT NULL,            -- JSON: terms for SMPP clients that differ from the usual terms
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
    used    INTEGER,                           -- last use, accurate to an hour
    PRIMARY KEY (account, id)
) STRICT, WITHOUT ROWID;

-- Every change of a balance. A charge has the key of its message or batch; the charge of an inbound message has the
-- message's position. Other entries have keys made from their time, with all worker bits set. An entry of 0 is not
-- written.
CREATE TABLE ledger (
    account INTEGER NOT NULL,
    key     INTEGER NOT NULL,
    kind    INTEGER NOT NULL,                  -- EntryKind
    amount  INTEGER NOT NULL,
    message INTEGER NOT NULL,                  -- the subject: an outbound or inbound message, or a batch; 0 for a top-up
    at      INTEGER NOT NULL,
    note    TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (account, key, kind)
) STRICT, WITHOUT ROWID;

-- Top-ups with a reference, so that a repeated request adds its credit once.
CREATE TABLE top_up (
    account   INTEGER NOT NULL,
    reference TEXT NOT NULL,
    amount    INTEGER NOT NULL,
    balance   INTEGER NOT NULL,                -- after the top-up
    PRIMARY KEY (account, reference)
) STRICT, WITHOUT ROWID;

-- No message is refunded twice.
CREATE UNIQUE INDEX ledger_refund ON ledger (message) WHERE kind = {EntryKind.REFUND};

-- A balance fell below the account's low_balance. The key of its notice is {LOW_BALANCE} minus the id.
CREATE TABLE balance_notice (
    id        INTEGER PRIMARY KEY,             -- AUTOINCREMENT would cost each change of a balance a write
    account   INTEGER NOT NULL,
    balance   INTEGER NOT NULL,                -- after the change
    threshold INTEGER NOT NULL,                -- low_balance at that time
    way       INTEGER NOT NULL,                -- Way; none without a callback_url
    at        INTEGER NOT NULL
) STRICT;

CREATE INDEX balance_notice_account ON balance_notice (account, at);

-- Notes a balance below its threshold, in the transaction that changed it. The time is that of the ledger entry, because
-- the store has no clock.
CREATE TRIGGER account_low_balance AFTER UPDATE OF balance ON account
WHEN NEW.low_balance_armed <> 0 AND NEW.balance < NEW.low_balance
BEGIN
    INSERT INTO balance_notice (account, balance, threshold, way, at) VALUES (
        NEW.id, NEW.balance, NEW.low_balance, CASE NEW.callback_url WHEN '' THEN {Way.NONE} ELSE {Way.WEBHOOK} END,
        coalesce((SELECT at FROM ledger WHERE account = NEW.id ORDER BY key DESC LIMIT 1), 0)
    );
END;

-- Owes the notice, and disarms the account until a top-up. A trigger of its own keeps the one above small: it is
-- loaded at each change of a balance.
CREATE TRIGGER balance_notice_owed AFTER INSERT ON balance_notice
BEGIN
    UPDATE account SET low_balance_armed = 0 WHERE id = NEW.account;
    INSERT INTO callback_retry (key, account, due, attempts, body, problem, "first", way, parked)
    SELECT {LOW_BALANCE} - NEW.id, NEW.account, NEW.at, 0, x'', '', NEW.at, NEW.way, 0 WHERE NEW.way <> {Way.NONE};
END;

-- Prices of a segment to a destination in this network or with this prefix, and of a message from a phone with the
-- prefix. In a plan the network counts before the longest prefix with a price at that time, and of its prices the latest.
CREATE TABLE price (
    plan    TEXT NOT NULL,
    prefix  TEXT NOT NULL,
    network TEXT NOT NULL,                     -- mobile_network.mccmnc; '' if the prefix decides
    since   INTEGER NOT NULL,                  -- start of validity; 0: from the beginning
    side    INTEGER NOT NULL DEFAULT 0,        -- see list_import
    price   INTEGER NOT NULL,
    inbound INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (plan, prefix, network, since, side)
) STRICT, WITHOUT ROWID;

CREATE INDEX price_since ON price (since) WHERE since > 0;
CREATE INDEX price_side ON price (side, plan) WHERE side > 0;

-- Rules of price plans. A plan without a row has the defaults.
CREATE TABLE plan (
    name         TEXT NOT NULL PRIMARY KEY,
    routing      TEXT NOT NULL,                -- order among connectors of the same priority
    min_margin   TEXT NOT NULL,                -- credits such as 0.001, or 10%; '' for none
    unknown_cost TEXT NOT NULL,                -- allow or refuse
    min_quality  REAL NOT NULL                 -- 0 to 1
) STRICT, WITHOUT ROWID;

-- What operators charge a segment. Of the costs of a connector and destination, the latest that has begun counts. It
-- holds until its end, or until the next: an earlier cost never comes back.
CREATE TABLE cost (
    connector INTEGER NOT NULL,
    network   TEXT NOT NULL,                   -- mobile_network.mccmnc; '' if the prefix decides
    prefix    TEXT NOT NULL,
    since     INTEGER NOT NULL,                -- start of validity; 0: from the beginning
    side      INTEGER NOT NULL DEFAULT 0,      -- see list_import
    submitted INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    until     INTEGER NOT NULL DEFAULT 0,      -- end of validity, later than since; 0: none
    PRIMARY KEY (connector, network, prefix, since, side)
) STRICT, WITHOUT ROWID;

CREATE INDEX cost_since ON cost (since) WHERE since > 0;
CREATE INDEX cost_until ON cost (until) WHERE until > 0;
CREATE INDEX cost_side ON cost (side, connector) WHERE side > 0;

-- Long lists of prices, costs, routes and networks are written in batches. A row with side 0 holds before and after the
-- import, with side 1 until the import is done, with side 2 from then on. Without an import each row has side 0.
CREATE TABLE list_import (
    kind   TEXT PRIMARY KEY,                   -- price, cost, route or network
    hidden INTEGER NOT NULL,                   -- the side that does not hold: 2; 1 once an import is done
    ticket INTEGER NOT NULL,                   -- of the last import
    until  INTEGER NOT NULL                    -- end of its lease; 0: it left nothing
) STRICT, WITHOUT ROWID;

INSERT INTO list_import (kind, hidden, ticket, until) VALUES
    ('price', 2, 0, 0), ('cost', 2, 0, 0), ('route', 2, 0, 0), ('network', 2, 0, 0);

-- connectors and routes

CREATE TABLE connector (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT NOT NULL UNIQUE,
    kind      TEXT NOT NULL,
    binds     INTEGER NOT NULL,
    "window"  INTEGER NOT NULL,
    rate      REAL NOT NULL,
    state     TEXT NOT NULL,                   -- on, drain, off
    max_day   INTEGER NOT NULL,                -- parts a day; 0: no cap
    max_month INTEGER NOT NULL,                -- parts a month; 0: no cap
    settings  TEXT NOT NULL,                   -- JSON object: settings of the kind
    created   INTEGER NOT NULL
) STRICT;

-- Parts that operators took, by day.
CREATE TABLE operator_parts (
    connector INTEGER NOT NULL,
    day       INTEGER NOT NULL,                -- start of the day in UTC
    parts     INTEGER NOT NULL,
    PRIMARY KEY (connector, day)
) STRICT, WITHOUT ROWID;

-- Paces that were learnt, to begin with after a restart.
CREATE TABLE operator_pace (
    connector INTEGER NOT NULL PRIMARY KEY,
    rate      REAL NOT NULL,                   -- parts a second, over all nodes
    is_limit  INTEGER NOT NULL                 -- whether the operator throttled more
) STRICT;

CREATE TABLE route (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    prefix    TEXT NOT NULL,
    connector INTEGER NOT NULL,
    priority  INTEGER NOT NULL,
    network   TEXT NOT NULL,                   -- mobile_network.mccmnc; '' if the prefix decides
    account   INTEGER NOT NULL,                -- 0: all accounts
    plan      TEXT NOT NULL,                   -- '': all plans
    sender    TEXT NOT NULL,                   -- '': all sender IDs; may end in *
    share     INTEGER NOT NULL,
    fallback  INTEGER NOT NULL,
    side      INTEGER NOT NULL DEFAULT 0       -- see list_import
) STRICT;

-- All columns but the id: pages of routes read it alone. The statement add_routes keeps the columns up to priority unique.
CREATE INDEX route_target ON route (prefix, network, account, plan, sender, connector, priority, share, fallback, side);

CREATE INDEX route_plan ON route (plan) WHERE plan <> '';
CREATE INDEX route_side ON route (side) WHERE side > 0;

-- Mobile networks, by the first digits of their numbers.
CREATE TABLE mobile_network (
    prefix TEXT NOT NULL,
    side   INTEGER NOT NULL DEFAULT 0,         -- see list_import
    mccmnc TEXT NOT NULL,
    name   TEXT NOT NULL,
    PRIMARY KEY (prefix, side)
) STRICT, WITHOUT ROWID;

CREATE INDEX mobile_network_side ON mobile_network (side) WHERE side > 0;

-- Owners of inbound messages, by the number that phones write to.
CREATE TABLE number (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    number    TEXT NOT NULL,                   -- the destination address from the operator
    keyword   TEXT NOT NULL,                   -- the text's first word; '': any other
    connector INTEGER NOT NULL,                -- 0: any
    account   INTEGER NOT NULL,
    UNIQUE (number, keyword, connector)
) STRICT;

-- Texts in an operators' registry, such as India's DLT.
CREATE TABLE template (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    name    TEXT NOT NULL UNIQUE,
    text    TEXT NOT NULL,
    sender  TEXT NOT NULL,                     -- '': any
    account INTEGER NOT NULL,                  -- 0: any
    tlvs    TEXT NOT NULL                      -- JSON object: values by name
) STRICT;

-- Rules for sender IDs by the country of the destination.
CREATE TABLE sender_rule (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    country TEXT NOT NULL,                     -- ISO 3166-1
    kind    TEXT NOT NULL,
    action  TEXT NOT NULL,                     -- allow, replace or refuse
    value   TEXT NOT NULL,                     -- the sender to send instead, or the senders of the rule; '' for all
    UNIQUE (country, kind, action, value)
) STRICT;

-- Sender IDs of accounts with a registry. Only approved sender IDs may be used.
CREATE TABLE sender (
    account INTEGER NOT NULL,
    sender  TEXT NOT NULL,
    state   TEXT NOT NULL,                     -- domain.limits.gate.SenderState
    since   INTEGER NOT NULL,
    note    TEXT NOT NULL,
    PRIMARY KEY (account, sender)
) STRICT, WITHOUT ROWID;

-- SMPP binds of customers, over all nodes. A row with an old time belongs to a node that is gone.
CREATE TABLE customer_bind (
    id      INTEGER PRIMARY KEY,               -- random
    account INTEGER NOT NULL,
    node    INTEGER NOT NULL,
    at      INTEGER NOT NULL,                  -- time of its node's last report
    dropped INTEGER NOT NULL DEFAULT 0,        -- 1: its node must unbind it
    state   TEXT NOT NULL                      -- JSON: app.records.CustomerBind
) STRICT;

CREATE INDEX customer_bind_account ON customer_bind (account);

-- Traffic of watched accounts to ranges of numbers, a row for each hour (domain.pumping.TrafficCount).
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

-- Ranges of numbers to which an account's traffic looks like pumping.
CREATE TABLE traffic_hold (
    account INTEGER NOT NULL,
    prefix  TEXT NOT NULL,
    since   INTEGER NOT NULL,
    ended   INTEGER,                           -- NULL while it holds
    why     TEXT NOT NULL,
    observed INTEGER NOT NULL,                 -- 1: the guard tells of it, and holds no message
    PRIMARY KEY (account, prefix)
) STRICT, WITHOUT ROWID;

-- Numbers that an account must not send to. The digest stays when the number is erased.
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

-- The key of the digests, made once.
CREATE TABLE suppression_key (key BLOB NOT NULL) STRICT;
INSERT INTO suppression_key (key) VALUES (randomblob(32));

-- Numbers of refused requests in the hour that begins at `hour`.
CREATE TABLE refusal_count (
    account  INTEGER NOT NULL,
    reason   TEXT NOT NULL,                    -- domain.error.Reason
    hour     INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    latest   INTEGER NOT NULL,
    PRIMARY KEY (account, reason, hour)
) STRICT, WITHOUT ROWID;

CREATE INDEX refusal_count_hour ON refusal_count (hour);

-- The last requests of each account and reason: at most app.observing.refusals.KEPT.
CREATE TABLE refused_request (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    account    INTEGER NOT NULL,
    reason     TEXT NOT NULL,
    at         INTEGER NOT NULL,
    status     INTEGER NOT NULL,
    method     TEXT NOT NULL,
    path       TEXT NOT NULL,
    field      TEXT NOT NULL,                  -- '' without a wrong field
    message    TEXT NOT NULL,
    address    TEXT NOT NULL,
    request_id TEXT NOT NULL
) STRICT;

CREATE INDEX refused_request_kind ON refused_request (account, reason, id);
CREATE INDEX refused_request_at ON refused_request (at);

-- Counts of events by minute, hour, day, week and eight weeks, without empty buckets. domain.series describes a cell,
-- and adapters/store/shared/series.py the sums.
CREATE TABLE series (
    grain       INTEGER NOT NULL,              -- Grain; plus 16 for its sums
    start       INTEGER NOT NULL,
    account     INTEGER NOT NULL,
    connector   INTEGER NOT NULL,
    country     TEXT NOT NULL,
    network     TEXT NOT NULL,                    -- MCCMNC; '' if it is not known
    accepted    INTEGER NOT NULL,
    segments    INTEGER NOT NULL,
    submitted   INTEGER NOT NULL,
    delivered   INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    cancelled   INTEGER NOT NULL,
    inbound     INTEGER NOT NULL,
    refused     INTEGER NOT NULL,
    spend       INTEGER NOT NULL,
    resent      INTEGER NOT NULL,
    confirmed   INTEGER NOT NULL,
    denied      INTEGER NOT NULL,
    failures    TEXT NOT NULL,                 -- JSON object: counts by state and code; '' for none
    refusals    TEXT NOT NULL,                 -- JSON object: counts by reason; '' for none
    to_operator BLOB NOT NULL,                 -- domain.sketch
    to_receipt  BLOB NOT NULL,
    PRIMARY KEY (grain, start, account, connector, country, network)
) STRICT, WITHOUT ROWID;

-- Messages that series count from their rows: cancelled messages, and replies to phones.
CREATE TABLE series_owed (
    id  INTEGER PRIMARY KEY,
    key INTEGER NOT NULL,
    at  INTEGER NOT NULL                        -- time of its end; 0: it was accepted
) STRICT;

-- The revision: grows by 1 with each change of the tables above that a running gateway must notice.
CREATE TABLE revision (value INTEGER NOT NULL) STRICT;
INSERT INTO revision VALUES (0);

-- Rows of the large tables that changed at a revision, so that running gateways read these alone.
CREATE TABLE changed_row (
    revision INTEGER NOT NULL,
    kind     TEXT NOT NULL,                 -- route, price, cost or network
    owner    TEXT NOT NULL,                 -- price: the plan; cost: the connector; else ''
    network  TEXT NOT NULL,
    prefix   TEXT NOT NULL,                 -- '*': the whole table
    PRIMARY KEY (revision, kind, owner, network, prefix)
) STRICT, WITHOUT ROWID;

-- Orders of administrators for waiting messages in the memory of nodes, and the answers of nodes.
CREATE TABLE queue_order (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    at   INTEGER NOT NULL,
    body TEXT NOT NULL                         -- JSON: app.ports.backlog.QueueOrder
) STRICT;

CREATE TABLE queue_answer (
    "order"  INTEGER NOT NULL,
    node     INTEGER NOT NULL,
    messages INTEGER NOT NULL,                 -- messages that the node changed
    spared   INTEGER NOT NULL,                 -- messages without a row that it left alone: a part may have left
    PRIMARY KEY ("order", node)
) STRICT, WITHOUT ROWID;

-- The latest report of each node on itself.
CREATE TABLE node_report (
    node      INTEGER PRIMARY KEY,
    host      TEXT NOT NULL,
    version   TEXT NOT NULL,
    roles     TEXT NOT NULL,                   -- separated by commas
    directory INTEGER NOT NULL,                 -- past_mark.directory
    started   INTEGER NOT NULL,
    at        INTEGER NOT NULL
) STRICT;

CREATE TABLE link_state (
    connector INTEGER NOT NULL,
    node      INTEGER NOT NULL,
    state     TEXT NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (connector, node)
) STRICT, WITHOUT ROWID;

-- The keys that texts are sealed with, wrapped by the master key. The newest is used from `since` on. If its secret is
-- x'', texts are written plain.
CREATE TABLE data_key (
    number  INTEGER PRIMARY KEY,
    wrapped BLOB NOT NULL,
    since   INTEGER NOT NULL
) STRICT;

-- Progress of sealing older rows with the newest key: a single row, or none once all rows are sealed.
CREATE TABLE resealing (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    stage  INTEGER NOT NULL,                   -- index in shared/sealed_rows.py's list of tables
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
    time          INTEGER NOT NULL,            -- time of sending
    expires       INTEGER NOT NULL,
    state         INTEGER NOT NULL,            -- State
    connector     INTEGER NOT NULL,
    wants_receipt INTEGER NOT NULL,
    way           INTEGER NOT NULL,            -- Way of its receipts
    callback_url  TEXT NOT NULL,
    reference     TEXT NOT NULL,               -- '' without a reference
    batch         INTEGER NOT NULL,            -- the key of its batch, or 0
    extras        TEXT NOT NULL,               -- JSON of domain.extras; '' for nearly all
    network       TEXT NOT NULL                -- MCCMNC of the destination on acceptance; '' if it is not known
) STRICT;

-- Pages of a customer's list are read in the order of these indexes. All of them end with the key.
CREATE INDEX message_listed ON message (account, time) WHERE state IN {LISTED};
CREATE INDEX message_scheduled ON message (account, time) WHERE state = {State.SCHEDULED};
CREATE INDEX message_cancelled ON message (account, time) WHERE state = {State.CANCELLED};

-- For searches by users. Ordinary messages add no row to it.
CREATE INDEX message_state ON message (state) WHERE state <> {State.SENT};

-- The messages of a batch have keys above its own, up to `last_key`.
CREATE TABLE batch (
    key       INTEGER PRIMARY KEY,
    tail      INTEGER NOT NULL,
    account   INTEGER NOT NULL,
    last_key  INTEGER NOT NULL,
    reference TEXT,
    total     INTEGER NOT NULL,                -- its charge
    dropped   INTEGER NOT NULL DEFAULT 0       -- cost of its messages that retention dropped
) STRICT;

-- Times for which messages were held.
CREATE TABLE message_hold (
    key   INTEGER NOT NULL,
    began INTEGER NOT NULL,
    ended INTEGER,                             -- when it was released; NULL before, and if it ended while it was held
    why   TEXT NOT NULL,                       -- `held` of its row of the queue
    PRIMARY KEY (key, began)
) STRICT, WITHOUT ROWID;

-- Requests with a reference, with the data to repeat their answers.
CREATE TABLE reference (
    account     INTEGER NOT NULL,
    reference   TEXT NOT NULL,
    fingerprint BLOB NOT NULL,                 -- of the request: a different request with the same reference is a conflict
    key         INTEGER NOT NULL,
    batch       INTEGER NOT NULL,              -- 1: the key is a batch's
    scheduled   INTEGER NOT NULL,
    PRIMARY KEY (account, reference)
) STRICT, WITHOUT ROWID;
CREATE INDEX reference_of_submission ON reference (account, key) WHERE substr(reference, 1, 5) = 'smpp:';

-- Lists of messages that the console sends: app.ports.sending_lists.SendingList.
CREATE TABLE sending_list (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    account   INTEGER NOT NULL,
    name      TEXT NOT NULL,
    actor     TEXT NOT NULL,
    created   INTEGER NOT NULL,
    "rows"    INTEGER NOT NULL,
    state     TEXT NOT NULL,                   -- ListState: as administrators want it
    heard     TEXT NOT NULL,                   -- ListState: as its process obeys it
    handed_in INTEGER NOT NULL,                -- rows that were accepted or refused
    refused   INTEGER NOT NULL,
    reported  INTEGER NOT NULL,                -- time of the last report of its process
    ended     INTEGER,
    problem   TEXT NOT NULL,                   -- of the first refused row
    form      TEXT UNIQUE                      -- random name of the form that sent it; NULL: not known
) STRICT;

-- Reschedulings of messages, with the earlier time: at most app.facts.MOST_MOVES of a message.
CREATE TABLE moved (
    key  INTEGER NOT NULL,
    at   INTEGER NOT NULL,
    was  INTEGER NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (key, at)
) STRICT, WITHOUT ROWID;

-- the events of messages

-- Parts that an operator accepted, or finally refused.
CREATE TABLE sent (
    key         INTEGER NOT NULL,
    segment     INTEGER NOT NULL,
    connector   INTEGER NOT NULL,
    operator_id TEXT NOT NULL,
    status      INTEGER NOT NULL,              -- 0: accepted; else command_status, or app.facts.NO_ANSWER, NOT_SENT
    at          INTEGER NOT NULL,
    PRIMARY KEY (key, segment)
) STRICT, WITHOUT ROWID;

-- Tries that ended nothing: the part was sent again.
CREATE TABLE attempt (
    key       INTEGER NOT NULL,
    segment   INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    connector INTEGER NOT NULL,
    status    INTEGER NOT NULL,                -- command_status; app.facts.NO_ANSWER; 0: taken, and not delivered
    operator_id TEXT NOT NULL DEFAULT '',      -- where the operator took it
    PRIMARY KEY (key, segment, at, connector, status)
) STRICT, WITHOUT ROWID;

-- Final receipts, a row for each part.
CREATE TABLE part_receipt (
    key     INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    state   INTEGER NOT NULL,                  -- Delivery
    err     TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (key, segment)
) STRICT, WITHOUT ROWID;

-- Receipts of intermediate states: at most app.facts.MOST_PROGRESS of a state of a part.
CREATE TABLE progress (
    key     INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    state   INTEGER NOT NULL,                  -- Delivery
    err     TEXT NOT NULL,
    PRIMARY KEY (key, segment, at, state)
) STRICT, WITHOUT ROWID;

-- What customers say of the delivery of their messages: the last word of each.
CREATE TABLE feedback (
    key       INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    corrects  INTEGER NOT NULL                  -- 1: it contradicts the receipt
) STRICT;

-- The end of a message. It is the last event.
CREATE TABLE final (
    key   INTEGER PRIMARY KEY,
    state INTEGER,                             -- Delivery; NULL for a cancelled message
    err   TEXT NOT NULL,
    at    INTEGER NOT NULL,
    owed  INTEGER NOT NULL                     -- 1: a callback is owed for it
) STRICT;

-- Partial, because few messages end undelivered.
CREATE INDEX final_undelivered ON final (key) WHERE state <> {Delivery.DELIVRD};

-- Callbacks that have ended.
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
    keyword   TEXT NOT NULL,                   -- keyword of the rule that found the account
    content   ANY NOT NULL,                    -- as in `message`
    octets    BLOB NOT NULL,                   -- without headers
    coding    INTEGER NOT NULL,                -- data_coding; domain.retention.REDACTED_CODING once content was redacted
    parts     INTEGER NOT NULL,
    complete  INTEGER NOT NULL,                -- 0: parts are missing
    at        INTEGER NOT NULL,
    way       INTEGER NOT NULL,                -- Way of its notice
    price     INTEGER NOT NULL,                -- its account's charge for it
    wish      INTEGER NOT NULL,                -- Wish
    replied   INTEGER NOT NULL,                -- key of the gateway's answer; 0: none
    position  INTEGER NOT NULL,                -- among its account's messages: ascends in the order in which the account got them
    problem   TEXT NOT NULL DEFAULT ''         -- why the reply was not sent; '' otherwise
) STRICT;

CREATE INDEX inbound_account ON inbound (account, key);
CREATE INDEX inbound_position ON inbound (account, position);
-- the sums: see the statement `inbound_numbered`
CREATE INDEX inbound_sender ON inbound (sender, key + 0, account);
CREATE INDEX inbound_recipient ON inbound (recipient, key + 0, account);
CREATE INDEX inbound_replied ON inbound (replied) WHERE replied <> 0;

-- Messages that may not have been acknowledged: an equal message may be a repeat.
CREATE TABLE inbound_unanswered (
    key       INTEGER PRIMARY KEY,
    connector INTEGER NOT NULL,
    digest    INTEGER NOT NULL,                -- of the received octets
    node      INTEGER NOT NULL,                -- node with the link that it came over
    lost      INTEGER NOT NULL,                -- 1: that link is gone
    at        INTEGER NOT NULL
) STRICT;

CREATE INDEX inbound_unanswered_digest ON inbound_unanswered (connector, digest);

-- the slow tables: pending work. `node` is the node that has claimed the row

-- Parts that wait for the other parts of their message. Joined parts stay for a while, to recognise repeats.
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
    joined     INTEGER NOT NULL DEFAULT 0,     -- key of the joined message; 0: the part waits
    node       INTEGER,
    PRIMARY KEY (connector, sender, recipient, reference, total, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX inbound_part_waiting ON inbound_part (at) WHERE joined = 0;
CREATE INDEX inbound_part_joined ON inbound_part (at) WHERE joined <> 0;

-- Messages to be sent: scheduled, deferred by an operator, or beyond a lane's memory.
CREATE TABLE queue (
    key       INTEGER PRIMARY KEY,
    connector INTEGER NOT NULL,
    due       INTEGER NOT NULL,
    expires   INTEGER NOT NULL,
    attempted INTEGER NOT NULL,                -- 1: a part may have been sent without an answer
    node      INTEGER,
    account   INTEGER NOT NULL,                -- messages of an account keep their order
    phone     TEXT NOT NULL,                   -- the message's destination
    put_off   INTEGER NOT NULL DEFAULT 0,      -- 1: an operator deferred it, or did not answer
    held      TEXT                             -- why it waits beyond `due`: '' suspended account, '49170' range
                                               -- that the traffic guard holds, '!' held by an administrator,
                                               -- followed by the earlier value
) STRICT;

CREATE INDEX queue_due ON queue (connector, due) WHERE node IS NULL AND held IS NULL;
CREATE INDEX queue_expires ON queue (expires) WHERE node IS NULL;
CREATE INDEX queue_account ON queue (connector, account, due) WHERE node IS NULL AND held IS NULL;
-- For opt-outs, which end waiting messages to a phone.
CREATE INDEX queue_phone ON queue (account, phone) WHERE node IS NULL;
CREATE INDEX queue_held ON queue (held, account) WHERE held IS NOT NULL AND node IS NULL;
-- For counts of deferred messages, which are frequent. There may be millions of scheduled messages beside them.
CREATE INDEX queue_put_off ON queue (due, connector) WHERE put_off = 1 AND node IS NULL;

-- Parts that await receipts, by the operator's id.
CREATE TABLE awaiting (
    connector   INTEGER NOT NULL,
    operator_id TEXT NOT NULL,
    key         INTEGER NOT NULL,
    segment     INTEGER NOT NULL,
    PRIMARY KEY (connector, operator_id, key, segment)
) STRICT, WITHOUT ROWID;

CREATE INDEX awaiting_key ON awaiting (key, segment);

-- Receipts that came before the answer to submit_sm, or match no message.
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

-- Notices that were not delivered at once. A notice that ended undelivered keeps its row, so that a replay sends the
-- same octets.
CREATE TABLE callback_retry (
    key      INTEGER PRIMARY KEY,
    account  INTEGER NOT NULL,
    due      INTEGER,                          -- NULL: it has ended
    attempts INTEGER NOT NULL,
    body     BLOB NOT NULL,                    -- '' before the first attempt
    problem  TEXT NOT NULL,                    -- why the last attempt failed
    "first"  INTEGER NOT NULL,                 -- time when it was first owed, or replayed
    way      INTEGER NOT NULL,                 -- Way
    parked   INTEGER NOT NULL,                 -- 1: its account cannot be reached; its time ends at `due`
    node     INTEGER
) STRICT;

CREATE INDEX callback_retry_due ON callback_retry (due) WHERE node IS NULL AND due IS NOT NULL;
CREATE INDEX callback_retry_account ON callback_retry (account, due) WHERE node IS NULL AND due IS NOT NULL;
CREATE INDEX callback_retry_failed ON callback_retry (account, attempts)
WHERE way = 1 AND attempts > 0 AND due IS NOT NULL; -- Way.WEBHOOK
CREATE INDEX callback_retry_parked ON callback_retry (way, account, due)
WHERE parked <> 0 AND node IS NULL AND due IS NOT NULL;

CREATE TABLE mark (
    name  TEXT PRIMARY KEY,                    -- app.marks
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- users, and the log of their actions

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
    used    INTEGER NOT NULL                   -- time of the user's last action, accurate to a minute
) STRICT, WITHOUT ROWID;

-- Second factors. With the `secret` of an app its codes can be made. The `secret` of a passkey is its public key.
CREATE TABLE admin_factor (
    user TEXT NOT NULL,                     -- admin_user.name
    id TEXT NOT NULL,
    kind TEXT NOT NULL,                       -- app, passkey
    title TEXT NOT NULL,                      -- the user's name for it
    secret BLOB NOT NULL,
    counter INTEGER NOT NULL,                   -- app: the last used step of time; passkey: the time of its last challenge
    created INTEGER NOT NULL,
    used INTEGER,
    PRIMARY KEY (user, id)
) STRICT, WITHOUT ROWID;

-- SHA-256 of the unused recovery codes.
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

-- Numbers of failed sign-ins of a name at a node within about a second. `name` is a keyed hash of a user or of a place
-- (app.sending.failure_register). Rows stay for some minutes; rows of wrong codes stay for a day.
CREATE TABLE sign_in_failure (
    at       INTEGER NOT NULL,
    node     INTEGER NOT NULL,
    door     TEXT NOT NULL,
    name     BLOB NOT NULL,
    failures INTEGER NOT NULL,
    PRIMARY KEY (at, node, door, name)
) STRICT, WITHOUT ROWID;

-- Places of successful sign-ins, hashed in the same way.
CREATE TABLE sign_in_place (
    door TEXT NOT NULL,
    name BLOB NOT NULL,
    at   INTEGER NOT NULL,
    PRIMARY KEY (door, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_in_place_at ON sign_in_place (at);

-- The key of these hashes: a single row, made by the first start.
CREATE TABLE sign_in_key (
    id  INTEGER PRIMARY KEY CHECK (id = 1),
    key BLOB NOT NULL
) STRICT;

-- The audit log. Keys have no gaps. `hash` is SHA-256 over the previous hash and the entry (domain.audit_chain).
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

-- The end of the log: a single row.
CREATE TABLE deed_head (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    key  INTEGER NOT NULL,                     -- of the last entry, 0 for none
    hash BLOB NOT NULL
) STRICT;

INSERT INTO deed_head (id, key, hash) VALUES (1, 0, zeroblob(32));

CREATE TRIGGER deed_stays BEFORE UPDATE ON deed BEGIN
    SELECT raise(ABORT, 'the audit log is only ever added to');
END;

CREATE TRIGGER deed_stays_there BEFORE DELETE ON deed BEGIN
    SELECT raise(ABORT, 'the audit log is only ever added to');
END;

-- Destinations for searches by users: blocks of some thousands of messages, sorted within a block, and written some
-- time after the messages were accepted (sqlite/numbers.py).
CREATE TABLE message_number (
    block  INTEGER NOT NULL,
    number TEXT NOT NULL,
    key    INTEGER NOT NULL,
    PRIMARY KEY (block, number, key)
) STRICT, WITHOUT ROWID;

-- A block has every message from `first_key` to `last_key`. The next block begins behind it.
CREATE TABLE number_block (
    block     INTEGER PRIMARY KEY,
    first_key INTEGER NOT NULL,
    last_key  INTEGER NOT NULL
) STRICT;

-- The accounts, connectors and senders with messages in a block, with their number, and the first and last key. A
-- search for rare messages reads only this range. A connector that sent a message later has the range of the block.
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

-- For look-ups by key when the number of a message is erased.
CREATE INDEX number_block_last ON number_block (last_key);

-- Cursors of retention for each account, in the order of (time, key); for inbound messages in the order of keys.
CREATE TABLE retention (
    account INTEGER NOT NULL,                  -- 0: unrouted inbound messages
    stage   INTEGER NOT NULL,                  -- Stage
    inbound INTEGER NOT NULL,
    time    INTEGER NOT NULL,
    key     INTEGER NOT NULL,
    PRIMARY KEY (account, stage, inbound)
) STRICT, WITHOUT ROWID;

-- Messages behind the cursor with pending work, and messages to be erased once they have none.
CREATE TABLE retention_kept (
    account INTEGER NOT NULL,
    stage   INTEGER NOT NULL,
    key     INTEGER NOT NULL,
    PRIMARY KEY (account, stage, key)
) STRICT, WITHOUT ROWID;

-- Sums of charges and refunds of dropped messages. Their entries of the ledger stay, and must have the same sums.
CREATE TABLE dropped_money (
    account  INTEGER NOT NULL,
    kind     INTEGER NOT NULL,                 -- EntryKind
    entries  INTEGER NOT NULL,
    amount   INTEGER NOT NULL,
    last_key INTEGER NOT NULL,                 -- the highest key among the messages and batches
    PRIMARY KEY (account, kind)
) STRICT, WITHOUT ROWID;

-- Marks of data directories. Each gateway moves the mark of its own directory on. A mark lower than the directory knows
-- means that the database went back in time (domain.past).
CREATE TABLE past_mark (
    directory INTEGER PRIMARY KEY,
    moves     INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    timeline  INTEGER NOT NULL                  -- of PostgreSQL; 0 on SQLite
) STRICT, WITHOUT ROWID;

-- Losses of confirmed commits that a person accepted.
CREATE TABLE fork (
    number INTEGER PRIMARY KEY,                 -- from 1
    id     INTEGER NOT NULL,                    -- random
    at     INTEGER NOT NULL
) STRICT;

-- Worries that people were told about by an alert, until they are told that it is over.
CREATE TABLE told_worry (
    topic   TEXT NOT NULL,                     -- app.resources.attention
    subject TEXT NOT NULL,
    problem TEXT NOT NULL,
    since   INTEGER NOT NULL,
    PRIMARY KEY (topic, subject)
) STRICT, WITHOUT ROWID;

-- Written by the probe that tests whether the store can write.
CREATE TABLE probe (count INTEGER NOT NULL) STRICT;
INSERT INTO probe VALUES (0);
