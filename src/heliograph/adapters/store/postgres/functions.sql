-- Functions for operations in a single round trip. Rows are locked in the same order everywhere, so that no two
-- transactions deadlock: node, writer, account (by id), queue, message (by key). Words in braces are filled in when
-- this file is read. It is run again after each migration, hence OR REPLACE.
--
-- HG001: this node's work was given to other nodes.
-- HG002: other nodes have written equal messages from phones; the detail has the keys of the contested messages.

-- --- used by other functions

-- Returns whether the node still has its work, and keeps it so until the transaction ends. An unknown node has no lease
-- to lose.
CREATE OR REPLACE FUNCTION node_lives(p_node bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    is_gone boolean;
BEGIN
    SELECT gone INTO is_gone FROM node WHERE number = p_node FOR SHARE;
    RETURN NOT coalesce(is_gone, false);
END $$;

-- Raises HG001 if the node has lost its work, by node_lives.
CREATE OR REPLACE FUNCTION check_node(p_node bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT node_lives(p_node) THEN
        RAISE EXCEPTION USING ERRCODE = 'HG001', MESSAGE = 'the work of this node was given to others';
    END IF;
END $$;

-- Enters a connection as a writer. Returns false if its node is gone. Rows of vanished connections are kept for a week,
-- because the outcome of their last transaction may still be looked up.
CREATE OR REPLACE FUNCTION enter_writer(p_id bigint, p_node bigint, p_since bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    -- commits must be on disk, also if the database's default is another
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', false);
    END IF;
    IF NOT node_lives(p_node) THEN
        RETURN false;
    END IF;
    DELETE FROM writer AS w WHERE w.since < p_since - 604800000
        AND NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a WHERE a.pid = w.pid);
    INSERT INTO writer (id, node, since) VALUES (p_id, p_node, p_since);
    RETURN true;
END $$;

-- Makes entries other than charges, and changes the balance with them. Their keys are made from their time, with all
-- worker bits set, so that the ledger is in the order of time. Taken keys are skipped.
CREATE OR REPLACE FUNCTION enter_ledger(
    p_account bigint, p_kind smallint, p_amounts bigint[], p_messages bigint[], p_at bigint, p_note text
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    base  bigint := (p_at << 12) | 31;
    width bigint := 32 * (4096 + cardinality(p_amounts));
    taken bigint;
BEGIN
    LOOP
        SELECT max(key) INTO taken FROM ledger
        WHERE account = p_account AND key >= base AND key < base + width AND key & 31 = 31;
        EXIT WHEN taken IS NULL;
        base := taken + 32;
    END LOOP;
    INSERT INTO ledger (account, key, kind, amount, message, at, note)
    SELECT p_account, base + 32 * (e.n - 1), p_kind, e.amount, e.message, p_at, p_note
    FROM unnest(p_amounts, p_messages) WITH ORDINALITY AS e (amount, message, n)
    WHERE e.amount <> 0;
    UPDATE account SET balance = balance + (SELECT coalesce(sum(amount), 0) FROM unnest(p_amounts) AS amount)
    WHERE id = p_account;
END $$;

-- --- opt-outs

-- The digest of a suppressed number: domain.suppression.suppression_digest in SQL. A query of many numbers looks the
-- key up once.
CREATE OR REPLACE FUNCTION keyed_digest(k suppression_key, p_account bigint, p_number text) RETURNS bytea
LANGUAGE sql STABLE AS $$
    SELECT substring(
        sha256(k.outer_pad || sha256(k.inner_pad || convert_to(p_account || ':' || p_number, 'UTF8'))) FROM 1 FOR 16
    )
$$;

CREATE OR REPLACE FUNCTION suppression_digest(p_account bigint, p_number text) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT keyed_digest(k, p_account, p_number) FROM suppression_key AS k
$$;

-- Suppresses a number for a locked account, and cancels and refunds waiting messages to it. Returns false if it was
-- suppressed already.
CREATE OR REPLACE FUNCTION suppress_number(p_account bigint, p_number text, p_now bigint, p_source text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    keys    bigint[];
    refunds bigint[];
BEGIN
    INSERT INTO suppression (account, digest, number, since, source)
    VALUES (p_account, suppression_digest(p_account, p_number), p_number, p_now, p_source)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE account SET suppressed = true WHERE id = p_account AND NOT suppressed;
    keys := ARRAY(
        SELECT q.key FROM queue AS q
        WHERE q.account = p_account AND q.phone = p_number AND q.node IS NULL AND NOT q.attempted
          AND NOT EXISTS (SELECT 1 FROM sent AS s WHERE s.key = q.key)
          AND NOT EXISTS (SELECT 1 FROM attempt AS t WHERE t.key = q.key AND t.status IN (0, {NO_ANSWER}))
          AND NOT EXISTS (SELECT 1 FROM inbound AS i WHERE i.replied = q.key AND i.replied <> 0)
        ORDER BY q.key FOR UPDATE
    );
    IF cardinality(keys) > 0 THEN
        DELETE FROM queue WHERE key = ANY (keys);
        UPDATE message SET state = {after(Trigger.OPT_OUT)} WHERE key = ANY (keys);
        INSERT INTO final (key, state, err, at, owed) SELECT key, NULL, '', p_now, false FROM unnest(keys) AS key;
        INSERT INTO series_owed (key, at) SELECT key, p_now FROM unnest(keys) AS key;
        SELECT array_agg(m.price ORDER BY k.n) INTO refunds
        FROM unnest(keys) WITH ORDINALITY AS k (key, n) JOIN message AS m ON m.key = k.key;
        PERFORM enter_ledger(p_account, {EntryKind.REFUND}::smallint, refunds, keys, p_now, 'opted out');
    END IF;
    RETURN true;
END $$;

-- Lifts the suppression of a number for a locked account. Returns false if there was none.
CREATE OR REPLACE FUNCTION lift_suppression(p_account bigint, p_number text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM suppression WHERE account = p_account AND digest = suppression_digest(p_account, p_number);
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE account SET suppressed = EXISTS (SELECT 1 FROM suppression AS s WHERE s.account = p_account)
    WHERE id = p_account;
    RETURN true;
END $$;

-- --- record: a function for each kind of fact, called in this order by a single statement

-- Opens a transaction of facts: counts it, and locks the accounts with changes of their balances. Raises HG001.
CREATE OR REPLACE FUNCTION record_open(p_writer bigint, p_seq bigint, p_accounts bigint[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE writer SET seq = p_seq WHERE id = p_writer AND NOT over;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'HG001', MESSAGE = 'the work of this node was given to others';
    END IF;
    IF cardinality(p_accounts) > 0 THEN
        PERFORM 1 FROM account WHERE id = ANY (p_accounts) ORDER BY id FOR NO KEY UPDATE;
    END IF;
END $$;

-- Judges the requests in order, and inserts the accepted. `r_place`: index of a request's account in `p_accounts`.
-- `m_request`: index of a message's request. Both are from 1. `r_last`: key of a batch's last message, or 0.
-- `r_day_ends`: end of the account's day, or 0. `p_exempt`: suppressions and limits do not hold. Returns the Verdict of
-- each request. After them come the indexes, from 1, of messages of accepted requests to recipients who opted out:
-- these fail and cost nothing.
CREATE OR REPLACE FUNCTION record_accepts(
    p_accounts bigint[],
    r_place integer[], r_key bigint[], r_tail bigint[], r_total bigint[], r_at bigint[], r_last bigint[],
    r_scheduled boolean[], r_reference text[], r_fingerprint bytea[], r_day_ends bigint[],
    m_request integer[], m_key bigint[], m_tail bigint[], m_price bigint[], m_time bigint[], m_expires bigint[],
    m_connector bigint[], m_segments integer[], m_kind smallint[], m_state smallint[], m_wants_receipt boolean[], m_way smallint[],
    m_queued boolean[], m_destination text[], m_sender text[], m_callback_url text[], m_reference text[],
    m_content bytea[], m_extras text[], m_network text[], p_exempt boolean
) RETURNS integer[] LANGUAGE plpgsql AS $$
DECLARE
    rooms    bigint[];
    flagged  boolean[];
    capped   boolean[];
    numbers  integer[];
    queued   integer[];
    uses     account[];
    counted  boolean[];
    fresh    integer[];
    number   integer;
    waiting  integer;
    withheld integer[] := '{}';
    left_out integer[];
    price    bigint;
    spent    bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_accounts)]);
    verdicts integer[] := array_fill({Verdict.ACCEPTED}, ARRAY[cardinality(r_place)]);
    place    integer;
    mine     account;
    print    bytea;
BEGIN
    -- record_open has locked these rows
    SELECT
        array_agg(CASE WHEN a.suspended THEN NULL ELSE a.balance + a.credit_limit END ORDER BY w.n),
        array_agg(coalesce(a.suppressed, false) ORDER BY w.n),
        array_agg(coalesce(a.daily_messages | a.daily_spend | a.max_waiting, 0) <> 0 AND NOT p_exempt ORDER BY w.n)
    INTO rooms, flagged, capped
    FROM unnest(p_accounts) WITH ORDINALITY AS w (id, n) LEFT JOIN account AS a ON a.id = w.id;
    IF true = ANY (flagged) AND NOT p_exempt THEN
        withheld := ARRAY(
            SELECT m.n::integer FROM unnest(m_request, m_destination) WITH ORDINALITY AS m (request, destination, n)
            JOIN suppression AS s ON s.account = p_accounts[r_place[m.request]]
                AND s.digest = suppression_digest(p_accounts[r_place[m.request]], m.destination)
            WHERE flagged[r_place[m.request]]
            ORDER BY m.n
        );
    END IF;

    IF true = ANY (capped) THEN
        SELECT array_agg(c.number ORDER BY c.request), array_agg(c.queued ORDER BY c.request) INTO numbers, queued
        FROM (
            SELECT m.request, count(*)::integer AS number, (count(*) FILTER (WHERE m.queued))::integer AS queued
            FROM unnest(m_request, m_queued) AS m (request, queued) GROUP BY m.request
        ) AS c;
        SELECT array_agg(a ORDER BY w.n) INTO uses
        FROM unnest(p_accounts) WITH ORDINALITY AS w (id, n) LEFT JOIN account AS a ON a.id = w.id;
        counted := array_fill(false, ARRAY[cardinality(p_accounts)]);
        fresh := array_fill(0, ARRAY[cardinality(p_accounts)]);
    END IF;

    FOR i IN 1 .. cardinality(r_place) LOOP
        place := r_place[i];
        left_out := '{}';
        IF rooms[place] IS NULL THEN
            verdicts[i] := {Verdict.SUSPENDED};
            CONTINUE;
        END IF;
        IF r_reference[i] IS NOT NULL THEN
            SELECT fingerprint INTO print FROM reference
            WHERE account = p_accounts[place] AND reference = r_reference[i];
            IF FOUND THEN
                verdicts[i] := CASE WHEN print = r_fingerprint[i]
                    THEN {Verdict.REPLAYED} ELSE {Verdict.REFERENCE_CONFLICT} END;
                UPDATE reference SET replayed = true
                WHERE account = p_accounts[place] AND reference = r_reference[i] AND print = r_fingerprint[i]
                    AND NOT replayed;
                CONTINUE;
            END IF;
        END IF;
        IF cardinality(withheld) > 0 THEN
            left_out := ARRAY(SELECT n FROM unnest(withheld) AS n WHERE m_request[n] = i);
            IF cardinality(left_out) = cardinality(array_positions(m_request, i)) THEN
                verdicts[i] := {Verdict.SUPPRESSED};
                CONTINUE;
            END IF;
            SELECT coalesce(sum(m_price[n]), 0) INTO price FROM unnest(left_out) AS n;
            r_total[i] := r_total[i] - price;
        END IF;
        IF r_total[i] > rooms[place] THEN
            verdicts[i] := {Verdict.TOO_LITTLE_CREDIT};
            CONTINUE;
        END IF;
        IF capped[place] THEN
            number := numbers[i] - cardinality(left_out);
            waiting := queued[i] - (SELECT count(*) FROM unnest(left_out) AS n WHERE m_queued[n]);
            mine := uses[place];
            IF r_day_ends[i] > mine.used_until THEN
                mine.used_until := r_day_ends[i];
                mine.used_messages := 0;
                mine.used_spend := 0;
            END IF;
            IF waiting > 0 AND mine.max_waiting > 0 AND mine.used_waiting + waiting > mine.max_waiting
                AND NOT counted[place]
            THEN
                counted[place] := true;
                mine.used_waiting := fresh[place]
                    + (SELECT count(*) FROM queue AS q WHERE q.account = p_accounts[place] AND q.node IS NULL);
            END IF;
            verdicts[i] := CASE
                WHEN mine.daily_messages > 0 AND mine.used_messages + number > mine.daily_messages
                    THEN {Verdict.DAILY_MESSAGES}
                WHEN mine.daily_spend > 0 AND mine.used_spend + r_total[i] > mine.daily_spend
                    THEN {Verdict.DAILY_SPEND}
                WHEN waiting > 0 AND mine.max_waiting > 0 AND mine.used_waiting + waiting > mine.max_waiting
                    THEN {Verdict.WAITING}
                ELSE {Verdict.ACCEPTED}
            END;
            IF verdicts[i] = {Verdict.ACCEPTED} THEN
                mine.used_messages := mine.used_messages + number;
                mine.used_spend := mine.used_spend + r_total[i];
                mine.used_waiting := mine.used_waiting + waiting;
                fresh[place] := fresh[place] + waiting;
            END IF;
            uses[place] := mine;
            CONTINUE WHEN verdicts[i] <> {Verdict.ACCEPTED};
        END IF;
        rooms[place] := rooms[place] - r_total[i];
        spent[place] := spent[place] + r_total[i];
        IF r_reference[i] IS NOT NULL THEN
            INSERT INTO reference (account, reference, fingerprint, key, batch, scheduled)
            VALUES (p_accounts[place], r_reference[i], r_fingerprint[i], r_key[i], r_last[i] <> 0, r_scheduled[i]);
        END IF;
    END LOOP;

    withheld := ARRAY(SELECT n FROM unnest(withheld) AS n WHERE verdicts[m_request[n]] = {Verdict.ACCEPTED});
    FOR i IN 1 .. cardinality(withheld) LOOP
        m_state[withheld[i]] := {State.FAILED};
        m_price[withheld[i]] := 0;
        m_queued[withheld[i]] := false;
    END LOOP;
    INSERT INTO message (
        key, tail, account, price, time, expires, batch, connector, segments, kind, state, wants_receipt, way,
        destination, sender, callback_url, reference, content, extras, network
    )
    SELECT
        m.key, m.tail, p_accounts[r_place[m.request]], m.price, m.time, m.expires,
        CASE WHEN r_last[m.request] = 0 THEN 0 ELSE r_key[m.request] END,
        m.connector, m.segments, m.kind, m.state, m.wants_receipt, m.way, m.destination, m.sender, m.callback_url,
        m.reference, m.content, m.extras, m.network
    FROM unnest(
        m_request, m_key, m_tail, m_price, m_time, m_expires, m_connector, m_segments, m_kind, m_state,
        m_wants_receipt, m_way, m_destination, m_sender, m_callback_url, m_reference, m_content, m_extras, m_network
    ) AS m (
        request, key, tail, price, time, expires, connector, segments, kind, state,
        wants_receipt, way, destination, sender, callback_url, reference, content, extras, network
    )
    WHERE verdicts[m.request] = {Verdict.ACCEPTED};

    INSERT INTO ledger (account, key, kind, amount, message, at)
    SELECT p_accounts[r.place], r.key, {EntryKind.CHARGE}, -r.total, r.key, r.at
    FROM unnest(r_place, r_key, r_total, r_at) WITH ORDINALITY AS r (place, key, total, at, n)
    WHERE r.total <> 0 AND verdicts[r.n] = {Verdict.ACCEPTED};

    UPDATE account AS a SET balance = a.balance - s.amount
    FROM unnest(p_accounts, spent) AS s (id, amount) WHERE a.id = s.id AND s.amount <> 0;
    IF uses IS NOT NULL THEN
        UPDATE account AS a SET
            used_until = u.used_until, used_messages = u.used_messages, used_spend = u.used_spend,
            used_waiting = u.used_waiting
        FROM unnest(uses) AS u WHERE a.id = u.id AND u.daily_messages | u.daily_spend | u.max_waiting <> 0;
    END IF;

    IF EXISTS (SELECT 1 FROM unnest(r_last) AS last WHERE last <> 0) THEN
        INSERT INTO batch (key, tail, account, last_key, total, reference)
        SELECT r.key, r.tail, p_accounts[r.place], r.last, r.total, r.reference
        FROM unnest(r_place, r_key, r_tail, r_total, r_last, r_reference) WITH ORDINALITY
            AS r (place, key, tail, total, last, reference, n)
        WHERE r.last <> 0 AND verdicts[r.n] = {Verdict.ACCEPTED};
    END IF;
    IF true = ANY (m_queued) THEN
        INSERT INTO queue (key, account, phone, connector, due, expires, attempted)
        SELECT m.key, p_accounts[r_place[m.request]], m.destination, m.connector, m.time, m.expires, false
        FROM unnest(m_request, m_key, m_destination, m_connector, m_time, m_expires, m_queued)
            AS m (request, key, destination, connector, time, expires, queued)
        WHERE m.queued AND verdicts[m.request] = {Verdict.ACCEPTED};
    END IF;
    IF cardinality(withheld) > 0 THEN
        INSERT INTO final (key, state, err, at, owed)
        SELECT m_key[n], {Delivery.REJECTD}, {NO_CODE}, r_at[m_request[n]], false FROM unnest(withheld) AS n;
    END IF;
    RETURN verdicts || withheld;
END $$;

-- Puts messages into the queue, or moves them in it. A row that is moved beyond its message's time counts as put off.
CREATE OR REPLACE FUNCTION record_queueings(
    p_key bigint[], p_connector bigint[], p_due bigint[], p_expires bigint[], p_attempted boolean[], p_node bigint[],
    p_held text[], p_since bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO message_hold (key, began, why)
    SELECT q.key, q.since, q.held FROM unnest(p_key, p_since, p_held) AS q (key, since, held)
    WHERE q.held IS NOT NULL ORDER BY q.key
    ON CONFLICT DO NOTHING;
    INSERT INTO queue (key, account, phone, connector, due, expires, attempted, node, put_off, held)
    SELECT
        q.key, coalesce(m.account, 0), coalesce(m.destination, ''), q.connector, q.due, q.expires, q.attempted, q.node,
        coalesce(m.time < q.due, false), q.held
    FROM unnest(p_key, p_connector, p_due, p_expires, p_attempted, p_node, p_held)
        AS q (key, connector, due, expires, attempted, node, held)
    LEFT JOIN message AS m ON m.key = q.key
    ORDER BY q.key
    ON CONFLICT (key) DO UPDATE SET
        connector = excluded.connector, due = excluded.due, expires = excluded.expires,
        attempted = excluded.attempted, node = excluded.node, put_off = excluded.put_off, held = excluded.held;
END $$;

CREATE OR REPLACE FUNCTION record_sending(p_key bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE queue SET attempted = true WHERE key = ANY (p_key) AND NOT attempted;
END $$;

CREATE OR REPLACE FUNCTION record_asking(p_key bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE message SET wants_receipt = true WHERE key = ANY (p_key);
END $$;

CREATE OR REPLACE FUNCTION record_attempts(
    p_key bigint[], p_segment integer[], p_connector bigint[], p_status bigint[], p_at bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO attempt (key, segment, connector, status, at)
    SELECT * FROM unnest(p_key, p_segment, p_connector, p_status, p_at)
    ON CONFLICT DO NOTHING;
END $$;

CREATE OR REPLACE FUNCTION record_submissions(
    p_key bigint[], p_segment integer[], p_connector bigint[], p_operator_id text[], p_status bigint[], p_at bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sent (key, segment, connector, operator_id, status, at)
    SELECT * FROM unnest(p_key, p_segment, p_connector, p_operator_id, p_status, p_at)
    ON CONFLICT DO NOTHING;
END $$;

-- Notes in closed blocks that another connector sent messages, which may be any of the block. Most are noted already: a
-- transaction locks a row once for a block, account, connector and sender. A block that closes at this moment waits for
-- the end of this transaction, or the other way round (lock_blocks): otherwise neither of them sees the other's rows.
CREATE OR REPLACE FUNCTION record_late_sends(p_key bigint[], p_connector bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM unnest(p_key, p_connector) AS l (key, connector)
        JOIN message AS m ON m.key = l.key AND m.connector <> l.connector
    ) THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(hashtext('block'));
    INSERT INTO block_content (block, account, connector, sender, first_key, last_key, messages)
    SELECT DISTINCT b.block, m.account, l.connector, lower(m.sender), b.first_key, b.last_key, 1
    FROM unnest(p_key, p_connector) AS l (key, connector)
    JOIN message AS m ON m.key = l.key AND m.connector <> l.connector
    CROSS JOIN LATERAL (
        SELECT block, first_key, last_key FROM number_block WHERE last_key >= l.key ORDER BY last_key LIMIT 1
    ) AS b
    WHERE b.first_key <= l.key AND NOT EXISTS (
        SELECT 1 FROM block_content AS c
        WHERE c.block = b.block AND c.account = m.account AND c.connector = l.connector AND c.sender = lower(m.sender)
          AND c.first_key <= l.key AND c.last_key >= l.key
    )
    ORDER BY 1, 2, 3, 4
    ON CONFLICT (block, account, connector, sender) DO UPDATE SET
        first_key = excluded.first_key, last_key = excluded.last_key;
END $$;

CREATE OR REPLACE FUNCTION record_dequeued(p_key bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM queue WHERE key = ANY (p_key);
END $$;

CREATE OR REPLACE FUNCTION record_parts(
    p_key bigint[], p_segment integer[], p_state smallint[], p_err text[], p_at bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO part_receipt (key, segment, state, err, at)
    SELECT * FROM unnest(p_key, p_segment, p_state, p_err, p_at)
    ON CONFLICT DO NOTHING;
END $$;

-- Some operators report for hours that a message is on its way. So the first of each state and code of a part is kept,
-- and at most app.facts.MOST_PROGRESS of a state of a part.
CREATE OR REPLACE FUNCTION record_progress(
    p_key bigint[], p_segment integer[], p_state smallint[], p_err text[], p_at bigint[], p_owed boolean[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO progress (key, segment, state, err, at)
    SELECT fresh.key, fresh.segment, fresh.state, fresh.err, fresh.at FROM (
        SELECT
            told.key, told.segment, told.state, told.err, told.at,
            row_number() OVER (PARTITION BY told.key, told.segment, told.state ORDER BY told.place) + (
                SELECT count(*) FROM progress AS p
                WHERE p.key = told.key AND p.segment = told.segment AND p.state = told.state
            ) AS place
        FROM (
            SELECT DISTINCT ON (u.key, u.segment, u.state, u.err) u.*
            FROM unnest(p_key, p_segment, p_state, p_err, p_at)
                WITH ORDINALITY AS u (key, segment, state, err, at, place)
            ORDER BY u.key, u.segment, u.state, u.err, u.place
        ) AS told
        WHERE NOT EXISTS (
            SELECT FROM progress AS p
            WHERE p.key = told.key AND p.segment = told.segment AND p.state = told.state AND p.err = told.err
        )
    ) AS fresh
    WHERE fresh.place <= {MOST_PROGRESS}
    ON CONFLICT DO NOTHING;
    IF true = ANY (p_owed) THEN
        INSERT INTO callback_retry (key, account, due, attempts, body, problem, "first", way, parked)
        SELECT DISTINCT ON (w.key) w.key, m.account, w.at, 0, ''::bytea, '', w.at, m.way, false FROM (
            SELECT -2 * u.key - CASE u.state WHEN {Delivery.ACCEPTD} THEN 1 ELSE 0 END AS key, u.key AS message, u.at
            FROM unnest(p_key, p_state, p_at, p_owed) AS u (key, state, at, owed) WHERE u.owed
        ) AS w JOIN message AS m ON m.key = w.message
        WHERE NOT EXISTS (SELECT 1 FROM callback AS c WHERE c.key = w.key)
          AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = w.message)
        ORDER BY w.key, w.at
        ON CONFLICT DO NOTHING;
    END IF;
END $$;

-- Ends messages. The first end of a message stays; a cancelled message has an end already.
CREATE OR REPLACE FUNCTION record_finals(
    p_key bigint[], p_state smallint[], p_err text[], p_at bigint[], p_owed boolean[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO final (key, state, err, at, owed)
    SELECT * FROM unnest(p_key, p_state, p_err, p_at, p_owed)
    ON CONFLICT DO NOTHING;
END $$;

-- Like record_finals, but some of the messages never left the gateway: they fail and are refunded, in order. Returns
-- how many ended now.
CREATE OR REPLACE FUNCTION record_failures(
    p_key bigint[], p_state smallint[], p_err text[], p_at bigint[], p_owed boolean[], p_failed boolean[],
    p_account bigint[], p_refund bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. cardinality(p_key) LOOP
        IF p_failed[i] THEN
            DELETE FROM queue WHERE key = p_key[i] AND NOT EXISTS (SELECT 1 FROM final WHERE key = p_key[i])
                AND EXISTS (SELECT 1 FROM message WHERE key = p_key[i] AND state IN {before(Trigger.FAIL)});
            UPDATE message SET state = {after(Trigger.FAIL)}
            WHERE key = p_key[i] AND state IN {before(Trigger.FAIL)}
              AND NOT EXISTS (SELECT 1 FROM final WHERE key = p_key[i]);
            CONTINUE WHEN NOT FOUND;
            PERFORM enter_ledger(
                p_account[i], {EntryKind.REFUND}::smallint, ARRAY[p_refund[i]], ARRAY[p_key[i]], p_at[i], 'failed'
            );
        END IF;
        INSERT INTO final (key, state, err, at, owed) VALUES (p_key[i], p_state[i], p_err[i], p_at[i], p_owed[i])
        ON CONFLICT DO NOTHING;
    END LOOP;
END $$;

-- Returns the messages with another end than these.
CREATE OR REPLACE FUNCTION superseded_ends(p_key bigint[], p_state smallint[], p_err text[], p_at bigint[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
    RETURN ARRAY(
        SELECT f.key FROM unnest(p_key, p_state, p_err, p_at) AS e (key, state, err, at) JOIN final AS f ON f.key = e.key
        WHERE (f.state, f.err, f.at) IS DISTINCT FROM (e.state, e.err, e.at)
    );
END $$;

-- Cancels and refunds messages of which no part has left, because their recipients opted out or an administrator cancelled
-- them. Ended messages stay.
CREATE OR REPLACE FUNCTION record_withdrawals(
    p_account bigint[], p_key bigint[], p_refund bigint[], p_at bigint[], p_note text[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. cardinality(p_key) LOOP
        PERFORM 1 FROM queue WHERE key = p_key[i] FOR UPDATE;
        UPDATE message SET state = {after(Trigger.OPT_OUT)}
        WHERE key = p_key[i] AND state IN {before(Trigger.OPT_OUT)}
          AND NOT EXISTS (SELECT 1 FROM final WHERE key = p_key[i]);
        CONTINUE WHEN NOT FOUND;
        DELETE FROM queue WHERE key = p_key[i];
        INSERT INTO final (key, state, err, at, owed) VALUES (p_key[i], NULL, '', p_at[i], false);
        INSERT INTO series_owed (key, at) VALUES (p_key[i], p_at[i]);
        PERFORM enter_ledger(
            p_account[i], {EntryKind.REFUND}::smallint, ARRAY[p_refund[i]], ARRAY[p_key[i]], p_at[i], p_note[i]
        );
    END LOOP;
END $$;

-- Gives messages that their operator did not deliver to another connector. The submissions become attempts, and the
-- receipts of the parts progress; the receipt of a single part has no row yet. A message that has ended, or that the operator does not have as a whole, stays
-- unchanged: another node was faster.
CREATE OR REPLACE FUNCTION record_resends(
    p_key bigint[], p_connector bigint[], p_instead bigint[], p_state smallint[], p_err text[], p_due bigint[],
    p_expires bigint[], p_at bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. cardinality(p_key) LOOP
        PERFORM 1 FROM sent WHERE key = p_key[i] ORDER BY segment FOR UPDATE;
        CONTINUE WHEN EXISTS (SELECT 1 FROM final WHERE key = p_key[i])
            OR (SELECT count(*) FROM sent WHERE key = p_key[i] AND connector = p_connector[i] AND status = 0)
                IS DISTINCT FROM (SELECT segments FROM message WHERE key = p_key[i]);
        INSERT INTO attempt (key, segment, connector, status, at, operator_id)
        SELECT key, segment, connector, status, at, operator_id FROM sent WHERE key = p_key[i]
        ON CONFLICT DO NOTHING;
        DELETE FROM sent WHERE key = p_key[i];
        INSERT INTO progress (key, segment, state, err, at)
        SELECT key, segment, state, err, at FROM part_receipt WHERE key = p_key[i]
        UNION ALL SELECT key, 0, p_state[i], p_err[i], p_at[i] FROM message WHERE key = p_key[i] AND segments = 1
        ON CONFLICT DO NOTHING;
        DELETE FROM part_receipt WHERE key = p_key[i];
        PERFORM record_queueings(
            p_key[i : i], p_instead[i : i], p_due[i : i], p_expires[i : i], ARRAY[false], ARRAY[NULL::bigint],
            ARRAY[NULL::text], ARRAY[0::bigint]
        );
    END LOOP;
END $$;

-- Suppresses the senders of STOP messages, and lifts suppressions on START. The reply to each is sent; the reply to a
-- STOP only if the sender was not suppressed. The accounts are locked.
CREATE OR REPLACE FUNCTION record_consents(
    p_account bigint[], p_sender text[], p_at bigint[], p_wish smallint[], r_key bigint[], r_tail bigint[],
    r_price bigint[], r_at bigint[], r_expires bigint[], r_connector bigint[], r_segments integer[], r_kind smallint[],
    r_destination text[], r_sender text[], r_content bytea[], r_network text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    fresh boolean;
BEGIN
    FOR i IN 1 .. cardinality(p_account) LOOP
        fresh := true;
        IF p_wish[i] = {Wish.STOP} THEN
            fresh := suppress_number(p_account[i], p_sender[i], p_at[i], 'message');
        ELSIF p_wish[i] IN ({Wish.START}, {Wish.YES}) THEN
            PERFORM lift_suppression(p_account[i], p_sender[i]);
        END IF;
        IF fresh AND r_key[i] <> 0 THEN
            INSERT INTO series_owed (key, at) VALUES (r_key[i], 0);
            PERFORM record_accepts(
                p_account[i : i], ARRAY[1], r_key[i : i], r_tail[i : i], r_price[i : i], r_at[i : i],
                ARRAY[0::bigint], ARRAY[false], ARRAY[NULL::text], ARRAY[NULL::bytea], ARRAY[0::bigint],
                ARRAY[1], r_key[i : i], r_tail[i : i], r_price[i : i], r_at[i : i], r_expires[i : i],
                r_connector[i : i], r_segments[i : i], r_kind[i : i], ARRAY[{State.SENT}::smallint], ARRAY[false],
                ARRAY[{Way.NONE}::smallint], ARRAY[true], r_destination[i : i], r_sender[i : i], ARRAY[''], ARRAY[''], r_content[i : i], ARRAY[''],
                r_network[i : i], true
            );
        END IF;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION record_early(
    p_connector bigint[], p_operator_id text[], p_destination text[], p_state smallint[], p_err text[], p_at bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO early (connector, operator_id, destination, state, err, at)
    SELECT * FROM unnest(p_connector, p_operator_id, p_destination, p_state, p_err, p_at);
END $$;

CREATE OR REPLACE FUNCTION record_early_matched(p_connector bigint[], p_operator_id text[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM early AS e USING unnest(p_connector, p_operator_id) AS m (connector, operator_id)
    WHERE e.connector = m.connector AND e.operator_id = m.operator_id;
END $$;

CREATE OR REPLACE FUNCTION record_awaiting(
    p_connector bigint[], p_operator_id text[], p_key bigint[], p_segment integer[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO awaiting (connector, operator_id, key, segment)
    SELECT * FROM unnest(p_connector, p_operator_id, p_key, p_segment)
    ON CONFLICT DO NOTHING;
END $$;

CREATE OR REPLACE FUNCTION record_inbound_lost(p_key bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE inbound_unanswered SET lost = true WHERE key = ANY (p_key);
END $$;

CREATE OR REPLACE FUNCTION record_inbound_answered(p_key bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE inbound_unanswered SET answered = true WHERE key = ANY (p_key);
END $$;

-- Begins the writing of messages from phones. The calling statement must begin with it, because a transaction that waits
-- here must not hold other locks.
--
-- 1. `find_repeated` of other nodes waits for the end of this transaction.
-- 2. Of two transactions with equal messages, the second waits for the first. Digests share 256 locks, because the
--    server has room for some thousands.
-- 3. A message is contested if another node wrote an equal message after the look-up of its earlier copies: its note has a
--    number above `p_last_note`. Raises HG002 then, before anything is written.
CREATE OR REPLACE FUNCTION record_inbound_begun(
    p_node bigint, p_key bigint[], p_connector bigint[], p_digest bigint[], p_last_note bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    contested text;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('inbound', p_node));
    PERFORM pg_advisory_xact_lock(hashtext('inbound'), d.share) FROM (
        SELECT DISTINCT (digest & 255)::integer AS share FROM unnest(p_digest) AS digest WHERE digest <> 0 ORDER BY share
    ) AS d;
    SELECT string_agg(DISTINCT i.key::text, ' ') INTO contested
    FROM unnest(p_key, p_connector, p_digest, p_last_note) AS i (key, connector, digest, last_note)
    JOIN inbound_unanswered AS u ON u.connector = i.connector AND u.digest = i.digest
    WHERE u.node <> p_node AND u.number > i.last_note
      AND NOT EXISTS (SELECT 1 FROM inbound AS o WHERE o.key = i.key);
    IF contested IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'HG002', DETAIL = contested,
            MESSAGE = 'another node has written equal messages from phones';
    END IF;
END $$;

-- Finds unanswered messages that a new message may repeat, oldest first, and whether the repeat is certain. Waits for
-- commits of other nodes under way: such a node may be dead by now, and the operator faster than its commit. Each row has
-- the number of the newest note before that, so each note up to it was found.
CREATE OR REPLACE FUNCTION find_repeated(
    p_connector bigint, p_digest bigint[], p_since bigint, p_slow bigint, p_node bigint
) RETURNS TABLE (digest bigint, key bigint, certain boolean, last_note bigint) LANGUAGE plpgsql AS $$
DECLARE
    newest bigint;
BEGIN
    SELECT s.last_value - (NOT s.is_called)::integer INTO newest FROM inbound_note AS s;
    PERFORM pg_advisory_xact_lock(hashtextextended('inbound', n.number)) FROM (
        SELECT number FROM node WHERE number <> p_node ORDER BY number
    ) AS n;
    RETURN QUERY
    SELECT u.digest, u.key, u.lost OR u.at < p_slow, newest
    FROM (SELECT 1) AS always LEFT JOIN inbound_unanswered AS u
        ON u.connector = p_connector AND u.digest = ANY (p_digest) AND u.at >= p_since
        AND (u.lost OR u.node <> p_node) AND NOT u.answered
    ORDER BY u.key;
END $$;

-- Keeps inbound messages, and charges them even beyond the balance. record_open has locked their accounts, so that
-- positions ascend in the order of commits. The position of a message is its key, or the last position plus one.
CREATE OR REPLACE FUNCTION record_inbound(
    p_account bigint[], p_connector bigint[], p_sender text[], p_recipient text[], p_octets bytea[], p_coding smallint[],
    p_at bigint[], p_keyword text[], p_parts integer[], p_complete boolean[], p_way smallint[], p_key bigint[],
    p_tail bigint[], p_digest bigint[], p_lost boolean[], p_price bigint[], p_wish smallint[], p_content bytea[],
    p_reply bigint[], p_node bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    WITH fresh AS (
        INSERT INTO inbound (
            key, tail, account, connector, at, parts, coding, complete, way, wish, sender, recipient, keyword, content,
            octets, price, replied, position
        )
        SELECT
            i.key, i.tail, i.account, i.connector, i.at, i.parts, i.coding, i.complete, i.way, i.wish, i.sender,
            i.recipient, i.keyword, i.content, i.octets, i.price,
            -- the key of the reply, or 0 if it was not accepted
            CASE WHEN i.reply = 0 THEN 0 ELSE coalesce((SELECT m.key FROM message AS m WHERE m.key = i.reply), 0) END,
            CASE WHEN i.account = 0 THEN i.key ELSE greatest(
                i.key,
                coalesce((SELECT max(o.position) FROM inbound AS o WHERE o.account = i.account), 0)
                    + row_number() OVER (PARTITION BY i.account ORDER BY i.key)
            ) END
        FROM unnest(
            p_key, p_tail, p_account, p_connector, p_at, p_parts, p_coding, p_complete, p_way, p_wish, p_sender,
            p_recipient, p_keyword, p_content, p_octets, p_price, p_reply
        ) AS i (
            key, tail, account, connector, at, parts, coding, complete, way, wish, sender, recipient, keyword, content,
            octets, price, reply
        )
        ON CONFLICT DO NOTHING RETURNING key, account, at, price, position
    ), charged AS (
        INSERT INTO ledger (account, key, kind, amount, message, at)
        SELECT account, position, {EntryKind.INBOUND}, -price, key, at FROM fresh WHERE price <> 0
        RETURNING account, amount
    )
    UPDATE account AS a SET balance = a.balance + s.amount
    FROM (SELECT account, sum(amount)::bigint AS amount FROM charged GROUP BY account) AS s WHERE a.id = s.account;
    INSERT INTO inbound_unanswered (key, connector, digest, node, at, lost)
    SELECT i.key, i.connector, i.digest, p_node, i.at, i.lost
    FROM unnest(p_key, p_connector, p_digest, p_at, p_lost) AS i (key, connector, digest, at, lost)
    WHERE i.digest <> 0
    ON CONFLICT DO NOTHING;
END $$;

-- Notes the reasons of replies that were not sent.
CREATE OR REPLACE FUNCTION record_inbound_replies(p_key bigint[], p_problem text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE inbound AS i SET problem = r.problem FROM unnest(p_key, p_problem) AS r (key, problem) WHERE i.key = r.key;
END $$;

-- Marks a node's parts of these sets as joined.
CREATE OR REPLACE FUNCTION record_joined(
    p_connector bigint[], p_sender text[], p_recipient text[], p_reference integer[], p_total integer[], p_key bigint[],
    p_node bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE inbound_part AS p SET joined = j.key, node = NULL
    FROM unnest(p_connector, p_sender, p_recipient, p_reference, p_total, p_key)
        AS j (connector, sender, recipient, reference, total, key)
    WHERE p.connector = j.connector AND p.sender = j.sender AND p.recipient = j.recipient AND p.reference = j.reference
      AND p.total = j.total AND p.joined = 0 AND p.node = p_node;
END $$;

-- Keeps parts of inbound messages. A waiting part stays as it is. A joined part stays too, unless other octets come
-- under its name: they begin another message.
CREATE OR REPLACE FUNCTION record_inbound_parts(
    p_connector bigint[], p_sender text[], p_recipient text[], p_reference integer[], p_total integer[],
    p_number integer[], p_coding smallint[], p_has_header boolean[], p_octets bytea[], p_at bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO inbound_part AS p (
        connector, sender, recipient, reference, total, number, coding, has_header, octets, at
    )
    SELECT DISTINCT ON (n.connector, n.sender, n.recipient, n.reference, n.total, n.number)
        n.connector, n.sender, n.recipient, n.reference, n.total, n.number, n.coding, n.has_header, n.octets, n.at
    FROM unnest(
        p_connector, p_sender, p_recipient, p_reference, p_total, p_number, p_coding, p_has_header, p_octets, p_at
    ) WITH ORDINALITY AS n (
        connector, sender, recipient, reference, total, number, coding, has_header, octets, at, place
    )
    ORDER BY n.connector, n.sender, n.recipient, n.reference, n.total, n.number, n.place
    ON CONFLICT (connector, sender, recipient, reference, total, number) DO UPDATE SET
        coding = excluded.coding, has_header = excluded.has_header, octets = excluded.octets, at = excluded.at, joined = 0
    WHERE p.joined <> 0 AND p.octets <> excluded.octets;
END $$;

-- A retry row is deleted when its callback is delivered. After any other end it stays, not due, for a replay.
CREATE OR REPLACE FUNCTION record_callbacks(
    p_key bigint[], p_end smallint[], p_code integer[], p_attempts integer[], p_at bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO callback (key, "end", code, attempts, at)
    SELECT * FROM unnest(p_key, p_end, p_code, p_attempts, p_at)
    ON CONFLICT DO NOTHING;
    IF EXISTS (SELECT 1 FROM callback_retry WHERE key = ANY (p_key)) THEN
        DELETE FROM callback_retry AS r USING unnest(p_key, p_end) AS d (key, "end"), callback AS c
        WHERE r.key = d.key AND d."end" = {CallbackEnd.DELIVERED}
          AND c.key = d.key AND c."end" = {CallbackEnd.DELIVERED};
        UPDATE callback_retry AS r SET due = NULL, node = NULL, attempts = d.attempts
        FROM unnest(p_key, p_end, p_attempts) AS d (key, "end", attempts), callback AS c
        WHERE r.key = d.key AND d."end" <> {CallbackEnd.DELIVERED}
          AND c.key = d.key AND c."end" <> {CallbackEnd.DELIVERED};
    END IF;
END $$;

CREATE OR REPLACE FUNCTION record_callback_retries(
    p_key bigint[], p_account bigint[], p_due bigint[], p_attempts integer[], p_body bytea[], p_problem text[],
    p_first bigint[], p_way smallint[], p_parked boolean[], p_node bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO callback_retry (key, account, due, attempts, body, problem, "first", way, parked, node)
    SELECT r.key, r.account, r.due, r.attempts, r.body, r.problem, r."first", r.way, r.parked, r.node
    FROM unnest(p_key, p_account, p_due, p_attempts, p_body, p_problem, p_first, p_way, p_parked, p_node)
        AS r (key, account, due, attempts, body, problem, "first", way, parked, node)
    ORDER BY r.key
    ON CONFLICT (key) DO UPDATE SET
        due = excluded.due, attempts = excluded.attempts, body = excluded.body,
        problem = CASE excluded.problem WHEN '' THEN callback_retry.problem ELSE excluded.problem END,
        "first" = excluded."first", parked = excluded.parked, node = excluded.node;
END $$;

CREATE OR REPLACE FUNCTION record_marks(p_worker smallint, p_name text[], p_value bigint[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO mark (worker, name, value)
    SELECT p_worker, m.name, m.value FROM unnest(p_name, p_value) AS m (name, value) ORDER BY m.name
    ON CONFLICT (worker, name) DO UPDATE SET value = excluded.value;
END $$;

-- --- record, an ordinary commit: the same with fewer statements, columns and reads of indexes
--
-- The functions above handle everything unusual: requests with a reference, in a batch, with scheduled or queued
-- messages, or without enough credit. A fact that was recorded before fails here with unique_violation. The whole
-- commit is then undone, and repeated by the functions above, which keep the first row.

-- Whether an account has limits of a day or of waiting messages.
CREATE OR REPLACE FUNCTION is_capped(a account) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT a.daily_messages | a.daily_spend | a.max_waiting <> 0
$$;

-- The use of a limit before a request with an account's day that ends at p_day_ends: 0 if the request begins a day.
CREATE OR REPLACE FUNCTION used_before(p_day_ends bigint, p_until bigint, p_used bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_day_ends > p_until THEN 0 ELSE p_used END
$$;

-- Whether this many messages that do not wait, at this price, are within the limits of the account's day.
CREATE OR REPLACE FUNCTION is_within_day(a account, p_day_ends bigint, p_number bigint, p_amount bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT (
        a.daily_messages = 0 OR used_before(p_day_ends, a.used_until, a.used_messages) + p_number <= a.daily_messages
    ) AND (a.daily_spend = 0 OR used_before(p_day_ends, a.used_until, a.used_spend) + p_amount <= a.daily_spend)
$$;

-- Like record_accepts, for requests of a single message each, without reference, that are sent at once. `p_totals`:
-- total price of the requests of each of `p_accounts`. `p_numbers`: their number of messages. `p_day_ends`: the end of
-- the account's day, or 0. Locks the accounts, in order. Returns NULL if all are accepted.
CREATE OR REPLACE FUNCTION record_singles(
    p_accounts bigint[], p_totals bigint[], p_numbers bigint[], p_day_ends bigint[], p_rows single_row[]
) RETURNS integer[] LANGUAGE plpgsql AS $$
DECLARE
    payable boolean := false;
BEGIN
    IF cardinality(p_accounts) = 1 THEN
        -- found, judged, locked and charged by a single statement
        UPDATE account AS a SET
            balance = balance - p_totals[1],
            used_until = CASE WHEN is_capped(a) THEN greatest(used_until, p_day_ends[1]) ELSE used_until END,
            used_messages = CASE WHEN is_capped(a)
                THEN used_before(p_day_ends[1], used_until, used_messages) + p_numbers[1] ELSE used_messages END,
            used_spend = CASE WHEN is_capped(a)
                THEN used_before(p_day_ends[1], used_until, used_spend) + p_totals[1] ELSE used_spend END
        WHERE id = p_accounts[1] AND NOT suspended AND balance + credit_limit >= p_totals[1] AND NOT suppressed
            AND is_within_day(a, p_day_ends[1], p_numbers[1], p_totals[1]);
        payable := FOUND;
    END IF;
    IF NOT payable THEN
        PERFORM 1 FROM account WHERE id = ANY (p_accounts) ORDER BY id FOR NO KEY UPDATE;
        payable := NOT EXISTS (
            SELECT 1 FROM unnest(p_accounts, p_totals, p_numbers, p_day_ends) AS s (id, amount, number, day_ends)
            LEFT JOIN account AS a ON a.id = s.id
            WHERE a.suspended IS NOT FALSE OR a.balance + a.credit_limit < s.amount
                OR NOT is_within_day(a, s.day_ends, s.number, s.amount)
        ) AND NOT EXISTS (
            SELECT 1 FROM suppression_key AS k, unnest(p_rows) AS m JOIN account AS a ON a.id = p_accounts[m.place]
            WHERE a.suppressed AND EXISTS (
                SELECT 1 FROM suppression AS s
                WHERE s.account = a.id AND s.digest = keyed_digest(k, a.id, m.destination)
            )
        );
        IF payable THEN
            UPDATE account AS a SET
                balance = a.balance - s.amount,
                used_until = CASE WHEN is_capped(a) THEN greatest(a.used_until, s.day_ends) ELSE a.used_until END,
                used_messages = CASE WHEN is_capped(a)
                    THEN used_before(s.day_ends, a.used_until, a.used_messages) + s.number ELSE a.used_messages END,
                used_spend = CASE WHEN is_capped(a)
                    THEN used_before(s.day_ends, a.used_until, a.used_spend) + s.amount ELSE a.used_spend END
            FROM unnest(p_accounts, p_totals, p_numbers, p_day_ends) AS s (id, amount, number, day_ends)
            WHERE a.id = s.id;
        END IF;
    END IF;
    IF NOT payable THEN
        -- some may be accepted: they are judged one by one
        RETURN (
            SELECT record_accepts(
                p_accounts, array_agg(place ORDER BY n), array_agg(key ORDER BY n), array_agg(tail ORDER BY n),
                array_agg(price ORDER BY n), array_agg(time ORDER BY n), array_agg(0::bigint), array_agg(false),
                array_agg(NULL::text), array_agg(NULL::bytea), array_agg(p_day_ends[place] ORDER BY n),
                array_agg(n::integer ORDER BY n), array_agg(key ORDER BY n), array_agg(tail ORDER BY n), array_agg(price ORDER BY n),
                array_agg(time ORDER BY n), array_agg(expires ORDER BY n), array_agg(connector ORDER BY n),
                array_agg(segments ORDER BY n), array_agg(kind ORDER BY n), array_agg({State.SENT}::smallint),
                array_agg(wants_receipt ORDER BY n), array_agg(way ORDER BY n), array_agg(false), array_agg(destination ORDER BY n),
                array_agg(sender ORDER BY n), array_agg(callback_url ORDER BY n), array_agg(''::text),
                array_agg(content ORDER BY n), array_agg(''::text), array_agg(network ORDER BY n), false
            )
            FROM unnest(p_rows) WITH ORDINALITY AS m (
                place, key, tail, price, time, expires, connector, segments, kind, wants_receipt, way, destination,
                sender, callback_url, content, network, n
            )
        );
    END IF;

    INSERT INTO message (
        key, tail, account, price, time, expires, batch, connector, segments, kind, state, wants_receipt, way,
        destination, sender, callback_url, reference, content, network
    )
    SELECT
        m.key, m.tail, p_accounts[m.place], m.price, m.time, m.expires, 0, m.connector, m.segments, m.kind,
        {State.SENT}, m.wants_receipt, m.way, m.destination, m.sender, m.callback_url, '', m.content, m.network
    FROM unnest(p_rows) AS m;
    INSERT INTO ledger (account, key, kind, amount, message, at)
    SELECT p_accounts[m.place], m.key, {EntryKind.CHARGE}, -m.price, m.key, m.time
    FROM unnest(p_rows) AS m WHERE m.price <> 0;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION insert_submissions(p_rows sent_row[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sent (key, segment, connector, operator_id, status, at) SELECT * FROM unnest(p_rows);
END $$;

CREATE OR REPLACE FUNCTION insert_finals(p_rows final_row[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO final (key, state, err, at, owed) SELECT * FROM unnest(p_rows);
END $$;

CREATE OR REPLACE FUNCTION insert_awaiting(p_rows awaiting_row[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO awaiting (connector, operator_id, key, segment) SELECT * FROM unnest(p_rows);
END $$;

-- Removes parts with received receipts.
CREATE OR REPLACE FUNCTION delete_awaiting(p_rows awaiting_row[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM awaiting AS a USING unnest(p_rows) AS m
    WHERE a.connector = m.connector AND a.operator_id = m.operator_id AND a.key = m.key AND a.segment = m.segment;
END $$;

CREATE OR REPLACE FUNCTION insert_callbacks(p_rows callback_row[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO callback (key, "end", code, attempts, at) SELECT * FROM unnest(p_rows);
    IF EXISTS (SELECT 1 FROM unnest(p_rows) AS d JOIN callback_retry AS r ON r.key = d.key) THEN
        DELETE FROM callback_retry AS r USING unnest(p_rows) AS d
        WHERE r.key = d.key AND d."end" = {CallbackEnd.DELIVERED};
        UPDATE callback_retry AS r SET due = NULL, node = NULL, attempts = d.attempts
        FROM unnest(p_rows) AS d WHERE r.key = d.key AND d."end" <> {CallbackEnd.DELIVERED};
    END IF;
END $$;

-- --- requests with a lost answer

-- Undoes requests whose clients were not told that they were written. Returns the keys of requests that were taken up
-- meanwhile (claimed, sent, cancelled, or repeated and answered): they stay. Their messages without a row of any kind
-- were in the memory of the calling node, which has dropped them: they go to the queue. An undone request no longer counts
-- into its day, unless a later day has begun.
CREATE OR REPLACE FUNCTION void_accepts(
    p_account bigint[], p_key bigint[], p_last bigint[], p_reference text[], p_day_ends bigint[]
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    keys     bigint[];
    number   bigint;
    total    bigint;
    answered boolean;
    taken    bigint[] := '{}';
BEGIN
    PERFORM 1 FROM account WHERE id = ANY (p_account) ORDER BY id FOR NO KEY UPDATE;
    FOR i IN 1 .. cardinality(p_key) LOOP
        SELECT array_agg(key ORDER BY key), count(*) FILTER (WHERE NOT (state = {State.FAILED} AND price = 0))
        INTO keys, number FROM message
        WHERE account = p_account[i] AND CASE WHEN p_last[i] = 0 THEN key = p_key[i] ELSE batch = p_key[i] END
            AND key BETWEEN p_key[i] AND greatest(p_key[i], p_last[i]);
        CONTINUE WHEN keys IS NULL;
        PERFORM 1 FROM queue WHERE key = ANY (keys) ORDER BY key FOR UPDATE;
        SELECT replayed INTO answered FROM reference
        WHERE account = p_account[i] AND reference = p_reference[i] AND key = p_key[i] FOR UPDATE;
        IF answered
            OR EXISTS (SELECT 1 FROM queue WHERE key = ANY (keys) AND (node IS NOT NULL OR attempted))
            OR EXISTS (SELECT 1 FROM sent WHERE key = ANY (keys))
            OR EXISTS (
                SELECT 1 FROM final AS f JOIN message AS m ON m.key = f.key
                WHERE f.key = ANY (keys) AND NOT (m.state = {State.FAILED} AND m.price = 0)  -- suppressed at once
            )
            OR EXISTS (
                SELECT 1 FROM message AS m
                WHERE m.key = ANY (keys) AND m.state = {State.SENT} AND m.time > (m.key >> 12) + 1000
            )
        THEN
            taken := taken || p_key[i];
            INSERT INTO queue (key, account, phone, connector, due, expires, attempted)
            SELECT m.key, m.account, m.destination, m.connector, m.time, m.expires, false FROM message AS m
            WHERE m.key = ANY (keys) AND m.state = {State.SENT} AND m.time <= (m.key >> 12) + 1000
                AND NOT EXISTS (SELECT 1 FROM sent AS s WHERE s.key = m.key)
                AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = m.key)
            ON CONFLICT DO NOTHING;
            CONTINUE;
        END IF;
        DELETE FROM queue WHERE key = ANY (keys);
        DELETE FROM final WHERE key = ANY (keys);
        DELETE FROM message WHERE key = ANY (keys);
        DELETE FROM batch WHERE key = p_key[i];
        DELETE FROM reference WHERE account = p_account[i] AND reference = p_reference[i] AND key = p_key[i];
        DELETE FROM ledger WHERE account = p_account[i] AND key = p_key[i] AND kind = {EntryKind.CHARGE}
        RETURNING -amount INTO total;
        UPDATE account SET balance = balance + coalesce(total, 0) WHERE id = p_account[i];
        UPDATE account SET
            used_messages = greatest(used_messages - number, 0),
            used_spend = greatest(used_spend - coalesce(total, 0), 0)
        WHERE id = p_account[i] AND used_until = p_day_ends[i];
    END LOOP;
    RETURN taken;
END $$;

-- --- the queue

-- Claims rows of the queue and returns them, oldest due first. Scheduled messages become Sent. Raises HG001.
CREATE OR REPLACE FUNCTION claim_queue(
    p_connector bigint, p_limit integer, p_now bigint, p_node bigint
) RETURNS TABLE (key bigint, connector bigint, attempted boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    keys bigint[];
BEGIN
    PERFORM check_node(p_node);
    IF p_connector IS NULL THEN
        SELECT array_agg(d.key) INTO keys FROM (
            SELECT q.key FROM queue AS q
            WHERE q.node IS NULL AND q.expires <= p_now
            ORDER BY q.expires, q.key LIMIT p_limit FOR UPDATE SKIP LOCKED
        ) AS d;
    ELSE
        SELECT array_agg(d.key) INTO keys FROM (
            SELECT q.key FROM queue AS q
            WHERE q.node IS NULL AND q.held IS NULL AND q.connector = p_connector AND q.due <= p_now
            ORDER BY q.due, q.key LIMIT p_limit FOR UPDATE SKIP LOCKED
        ) AS d;
    END IF;
    UPDATE message AS m SET state = {after(Trigger.DUE)}
    WHERE m.key = ANY (keys) AND m.state IN {before(Trigger.DUE)};
    UPDATE queue AS q SET node = p_node WHERE q.key = ANY (keys);
    RETURN QUERY
        SELECT q.key, q.connector, q.attempted
        FROM unnest(keys) WITH ORDINALITY AS k (key, n) JOIN queue AS q ON q.key = k.key ORDER BY k.n;
END $$;

-- Claims rows as claim_queue does, up to `p_limit` of each of these accounts. Raises HG001.
CREATE OR REPLACE FUNCTION claim_queue_of(
    p_connector bigint, p_accounts bigint[], p_limit integer, p_now bigint, p_node bigint
) RETURNS TABLE (key bigint, connector bigint, attempted boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    keys bigint[] := '{}';
    each bigint;
BEGIN
    PERFORM check_node(p_node);
    FOREACH each IN ARRAY p_accounts LOOP
        keys := keys || ARRAY(
            SELECT q.key FROM queue AS q
            WHERE q.node IS NULL AND q.held IS NULL AND q.connector = p_connector AND q.account = each AND q.due <= p_now
            ORDER BY q.due, q.key LIMIT p_limit FOR UPDATE SKIP LOCKED
        );
    END LOOP;
    UPDATE message AS m SET state = {after(Trigger.DUE)}
    WHERE m.key = ANY (keys) AND m.state IN {before(Trigger.DUE)};
    UPDATE queue AS q SET node = p_node WHERE q.key = ANY (keys);
    RETURN QUERY
        SELECT q.key, q.connector, q.attempted
        FROM unnest(keys) WITH ORDINALITY AS k (key, n) JOIN queue AS q ON q.key = k.key ORDER BY q.due, q.key;
END $$;

-- Returns the accounts that have unclaimed rows of a connector due by `p_now`. Each is found by a jump in the index.
CREATE OR REPLACE FUNCTION queued_accounts(p_connector bigint, p_now bigint)
RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_  bigint[] := '{}';
    account_ bigint := -9223372036854775808;
BEGIN
    LOOP
        SELECT q.account INTO account_ FROM queue AS q
        WHERE q.node IS NULL AND q.held IS NULL AND q.connector = p_connector AND q.account > account_
        ORDER BY q.account LIMIT 1;
        EXIT WHEN NOT FOUND;
        IF EXISTS (
            SELECT 1 FROM queue AS q
            WHERE q.node IS NULL AND q.held IS NULL AND q.connector = p_connector AND q.account = account_ AND q.due <= p_now
        ) THEN
            found_ := found_ || account_;
        END IF;
    END LOOP;
    RETURN found_;
END $$;

-- Claims due callbacks and returns them, oldest first. Raises HG001.
CREATE OR REPLACE FUNCTION claim_retries(p_limit integer, p_now bigint, p_node bigint) RETURNS TABLE (key bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    keys bigint[];
BEGIN
    PERFORM check_node(p_node);
    SELECT array_agg(d.key) INTO keys FROM (
        SELECT r.key FROM callback_retry AS r
        WHERE r.node IS NULL AND r.due IS NOT NULL AND r.due <= p_now
        ORDER BY r.due, r.key LIMIT p_limit FOR UPDATE SKIP LOCKED
    ) AS d;
    UPDATE callback_retry AS r SET node = p_node WHERE r.key = ANY (keys);
    RETURN QUERY SELECT k.key FROM unnest(keys) WITH ORDINALITY AS k (key, n) ORDER BY k.n;
END $$;

-- Claims callbacks as claim_retries does, up to `p_limit` of each of these accounts. Raises HG001.
CREATE OR REPLACE FUNCTION claim_retries_of(p_accounts bigint[], p_limit integer, p_now bigint, p_node bigint)
RETURNS TABLE (key bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    keys bigint[] := '{}';
    each bigint;
BEGIN
    PERFORM check_node(p_node);
    FOREACH each IN ARRAY p_accounts LOOP
        keys := keys || ARRAY(
            SELECT r.key FROM callback_retry AS r
            WHERE r.node IS NULL AND r.account = each AND r.due IS NOT NULL AND r.due <= p_now
            ORDER BY r.due, r.key LIMIT p_limit FOR UPDATE SKIP LOCKED
        );
    END LOOP;
    UPDATE callback_retry AS r SET node = p_node WHERE r.key = ANY (keys);
    RETURN QUERY SELECT unnest(keys);
END $$;

-- Claims parked notices of these accounts by a way: up to `p_limit` of each account, oldest first. Raises HG001.
CREATE OR REPLACE FUNCTION claim_parked(p_way smallint, p_accounts bigint[], p_limit integer, p_node bigint)
RETURNS TABLE (key bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    keys bigint[];
BEGIN
    PERFORM check_node(p_node);
    SELECT array_agg(d.key) INTO keys FROM unnest(p_accounts) AS a (account) CROSS JOIN LATERAL (
        SELECT r.key FROM callback_retry AS r
        WHERE r.parked AND r.way = p_way AND r.account = a.account
          AND r.node IS NULL AND r.due IS NOT NULL
        ORDER BY r.due, r.key LIMIT p_limit FOR UPDATE SKIP LOCKED
    ) AS d;
    UPDATE callback_retry AS r SET node = p_node WHERE r.key = ANY (keys);
    RETURN QUERY SELECT unnest(keys);
END $$;

-- Frees all rows that a node has claimed. Returns their number.
CREATE OR REPLACE FUNCTION release_claims(p_node bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    queued  bigint;
    retried bigint;
BEGIN
    UPDATE queue SET node = NULL
    WHERE key IN (SELECT key FROM queue WHERE node = p_node ORDER BY key FOR UPDATE);
    GET DIAGNOSTICS queued = ROW_COUNT;
    UPDATE callback_retry SET node = NULL
    WHERE key IN (SELECT key FROM callback_retry WHERE node = p_node ORDER BY key FOR UPDATE);
    GET DIAGNOSTICS retried = ROW_COUNT;
    UPDATE inbound_part SET node = NULL WHERE node = p_node;
    RETURN queued + retried;
END $$;

-- --- changes by customers

-- A single statement each: a node that vanishes between two statements of a transaction would keep the account locked
-- until the server finds its connection dead. asyncpg prepares a statement without ending the round trip (no Sync).

-- Locks the messages of this id, or of this batch, that are in one of `p_states` and not due by `p_now`. Returns their
-- keys; NULL if there is no such message or batch.
CREATE OR REPLACE FUNCTION still_scheduled(
    p_account bigint, p_key bigint, p_tail bigint, p_states smallint[], p_now bigint
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    keys bigint[];
    last bigint;
BEGIN
    PERFORM 1 FROM account WHERE id = p_account FOR NO KEY UPDATE;
    SELECT ARRAY[key] INTO keys FROM message WHERE key = p_key AND account = p_account AND tail = p_tail;
    IF NOT FOUND THEN
        SELECT last_key INTO last FROM batch WHERE key = p_key AND account = p_account AND tail = p_tail;
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
        SELECT array_agg(key) INTO keys FROM message WHERE key > p_key AND key <= last AND batch = p_key;
    END IF;
    PERFORM 1 FROM queue WHERE key = ANY (keys) ORDER BY key FOR UPDATE;
    RETURN ARRAY(
        SELECT key FROM message WHERE key = ANY (keys) AND state = ANY (p_states) AND time > p_now
        ORDER BY key FOR NO KEY UPDATE
    );
END $$;

-- Cancels and refunds messages that are still scheduled. Returns the keys, as still_scheduled does.
CREATE OR REPLACE FUNCTION cancel_messages(
    p_account bigint, p_key bigint, p_tail bigint, p_states smallint[], p_now bigint
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    keys    bigint[] := still_scheduled(p_account, p_key, p_tail, p_states, p_now);
    refunds bigint[];
BEGIN
    IF cardinality(keys) > 0 THEN
        DELETE FROM queue WHERE key = ANY (keys);
        UPDATE message SET state = {after(Trigger.CANCEL)} WHERE key = ANY (keys);
        INSERT INTO final (key, state, err, at, owed) SELECT key, NULL, '', p_now, false FROM unnest(keys) AS key;
        INSERT INTO series_owed (key, at) SELECT key, p_now FROM unnest(keys) AS key;
        SELECT array_agg(m.price ORDER BY k.n) INTO refunds
        FROM unnest(keys) WITH ORDINALITY AS k (key, n) JOIN message AS m ON m.key = k.key;
        PERFORM enter_ledger(p_account, {EntryKind.REFUND}::smallint, refunds, keys, p_now, 'cancelled');
    END IF;
    RETURN keys;
END $$;

-- Gives messages that are still scheduled another time. Returns the keys, as still_scheduled does.
CREATE OR REPLACE FUNCTION reschedule_messages(
    p_account bigint, p_key bigint, p_tail bigint, p_states smallint[], p_time bigint, p_expires bigint, p_now bigint
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    keys bigint[] := still_scheduled(p_account, p_key, p_tail, p_states, p_now);
BEGIN
    IF cardinality(keys) > 0 THEN
        INSERT INTO moved (key, at, was, time)
        SELECT m.key, p_now, m.time, p_time FROM message AS m
        WHERE m.key = ANY (keys) AND (SELECT count(*) FROM moved AS o WHERE o.key = m.key) < {MOST_MOVES}
        ON CONFLICT (key, at) DO UPDATE SET time = excluded.time;
        UPDATE queue SET due = p_time, expires = p_expires WHERE key = ANY (keys);
        UPDATE message SET time = p_time, expires = p_expires WHERE key = ANY (keys);
    END IF;
    RETURN keys;
END $$;

-- --- nodes

-- Moves pending work of a dead worker's fast lane into the slow tables, where any node finds it. Its plans are made for
-- the present marks, because few rows may be above them, or many.
CREATE OR REPLACE FUNCTION spill_worker(p_worker smallint) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    dispatched bigint := coalesce((SELECT value FROM mark WHERE worker = p_worker AND name = 'dispatch'), 0);
    awaited    bigint := coalesce((SELECT value FROM mark WHERE worker = p_worker AND name = 'awaiting'), 0);
    told       bigint := coalesce((SELECT value FROM mark WHERE worker = p_worker AND name = 'callback'), 0);
    latest     bigint := greatest(
        coalesce((SELECT max(key) FROM message), 0), coalesce((SELECT max(key) FROM inbound), 0)
    );
BEGIN
    INSERT INTO queue (key, account, phone, connector, due, expires, attempted)
    SELECT m.key, m.account, m.destination, m.connector, m.time, m.expires, m.key <= coalesce(a.value, 0)
    FROM message AS m
    LEFT JOIN mark AS a ON a.worker = p_worker AND a.name = 'attempted:' || m.connector
    WHERE m.key > dispatched AND m.key & 31 = p_worker AND m.state = {State.SENT}
      AND (SELECT count(*) FROM sent AS s WHERE s.key = m.key) < m.segments
      AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = m.key)
    ON CONFLICT DO NOTHING;
    INSERT INTO awaiting (connector, operator_id, key, segment)
    SELECT s.connector, s.operator_id, s.key, s.segment
    FROM message AS m JOIN sent AS s ON s.key = m.key
    WHERE m.key > awaited AND m.key & 31 = p_worker AND m.wants_receipt AND s.status = 0
      AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = m.key)
      AND NOT EXISTS (SELECT 1 FROM part_receipt AS p WHERE p.key = s.key AND p.segment = s.segment)
    ON CONFLICT DO NOTHING;
    INSERT INTO callback_retry (key, account, due, attempts, body, problem, "first", way, parked)
    SELECT f.key, m.account, f.at, 0, '', '', f.at, m.way, false
    FROM final AS f JOIN message AS m ON m.key = f.key
    WHERE f.key > told AND f.key & 31 = p_worker AND f.owed AND f.state IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM callback AS c WHERE c.key = f.key)
    ON CONFLICT DO NOTHING;
    INSERT INTO callback_retry (key, account, due, attempts, body, problem, "first", way, parked)
    SELECT i.key, i.account, i.at, 0, '', '', i.at, i.way, false FROM inbound AS i
    WHERE i.key > told AND i.key & 31 = p_worker AND i.way <> {Way.NONE}
      AND NOT EXISTS (SELECT 1 FROM callback AS c WHERE c.key = i.key)
    ON CONFLICT DO NOTHING;
    PERFORM record_marks(p_worker, ARRAY['dispatch', 'awaiting', 'callback'], ARRAY[latest, latest, latest]);
END $$;

-- Fences a node: it may not write or claim any more, and its claimed rows are freed. The caller must spill its fast
-- lane.
CREATE OR REPLACE FUNCTION fence_node(p_node bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE node SET gone = true WHERE number = p_node;
    DELETE FROM writer WHERE node = p_node;
    PERFORM release_claims(p_node);
    UPDATE inbound_unanswered SET lost = true WHERE node = p_node;
    DELETE FROM bind_slot WHERE node = p_node;
    DELETE FROM link_state WHERE node = p_node;
    DELETE FROM node_report WHERE node = p_node;
END $$;

-- Gives the work of nodes with ended leases to others, and forgets nodes that are long gone. Returns the dead nodes.
CREATE OR REPLACE FUNCTION release_dead_nodes(p_now bigint, p_keep bigint) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    dead bigint[];
    each bigint;
    mine smallint;
BEGIN
    dead := ARRAY(SELECT number FROM node WHERE NOT gone AND until <= p_now ORDER BY number FOR UPDATE SKIP LOCKED);
    FOREACH each IN ARRAY dead LOOP
        PERFORM fence_node(each);
        FOR mine IN SELECT number FROM worker WHERE node = each ORDER BY number FOR UPDATE LOOP
            PERFORM spill_worker(mine);
            UPDATE worker SET node = NULL WHERE number = mine;
        END LOOP;
    END LOOP;
    DELETE FROM node WHERE gone AND until <= p_now - p_keep;
    RETURN dead;
END $$;

-- Gives the node a free worker number and returns it; NULL if there is none.
CREATE OR REPLACE FUNCTION lease_worker_number(p_node bigint) RETURNS smallint LANGUAGE plpgsql AS $$
DECLARE
    leased smallint;
    latest bigint := greatest(
        coalesce((SELECT max(key) FROM message), 0), coalesce((SELECT max(key) FROM inbound), 0)
    );
BEGIN
    PERFORM check_node(p_node);
    LOCK TABLE worker IN SHARE ROW EXCLUSIVE MODE;
    SELECT n INTO leased FROM generate_series(0, 31) AS n
    WHERE NOT EXISTS (SELECT 1 FROM worker AS w WHERE w.number = n AND w.node IS NOT NULL)
    ORDER BY n LIMIT 1;
    IF leased IS NOT NULL THEN
        IF NOT EXISTS (SELECT 1 FROM worker WHERE number = leased) THEN
            -- no message has this number yet, so earlier rows need not be read
            PERFORM record_marks(leased, ARRAY['dispatch', 'awaiting', 'callback'], array_fill(latest, ARRAY[3]));
        END IF;
        INSERT INTO worker (number, node) VALUES (leased, p_node)
        ON CONFLICT (number) DO UPDATE SET node = excluded.node;
    END IF;
    RETURN leased;
END $$;

-- Gives the node up to `p_want` free slots below `p_binds`, and takes slots beyond that from it. Returns its slots.
CREATE OR REPLACE FUNCTION lease_bind_slots(p_connector bigint, p_node bigint, p_binds integer, p_want integer)
RETURNS integer[] LANGUAGE plpgsql AS $$
DECLARE
    held integer[];
    free integer;
BEGIN
    PERFORM check_node(p_node);
    DELETE FROM bind_slot WHERE connector = p_connector AND node = p_node AND slot NOT IN (
        SELECT slot FROM bind_slot WHERE connector = p_connector AND node = p_node AND slot < p_binds
        ORDER BY slot LIMIT p_want
    );
    SELECT coalesce(array_agg(slot), '{}') INTO held FROM bind_slot WHERE connector = p_connector AND node = p_node;
    FOR free IN
        SELECT n FROM generate_series(0, p_binds - 1) AS n
        WHERE NOT EXISTS (SELECT 1 FROM bind_slot AS b WHERE b.connector = p_connector AND b.slot = n) ORDER BY n
    LOOP
        EXIT WHEN cardinality(held) >= p_want;
        INSERT INTO bind_slot (connector, slot, node) VALUES (p_connector, free, p_node) ON CONFLICT DO NOTHING;
        IF FOUND THEN
            held := held || free;
        END IF;
    END LOOP;
    RETURN held;
END $$;

-- Reads all rows, so that the server checks the checksums of their pages. Checks the indexes if the database has the
-- extension amcheck. Returns a sentence for each table or index that is damaged.
CREATE OR REPLACE FUNCTION find_damage() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    each record;
BEGIN
    IF current_setting('data_checksums') = 'off' THEN
        RETURN NEXT 'The server has no checksums, so that it does not notice damaged pages: see pg_checksums --enable.';
    END IF;
    FOR each IN
        SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename
    LOOP
        BEGIN
            EXECUTE format('SELECT count(t::text) FROM %I AS t', each.name);
        EXCEPTION WHEN data_corrupted OR index_corrupted OR internal_error OR io_error THEN
            RETURN NEXT format('The table %s is damaged: %s.', each.name, SQLERRM);
        END;
    END LOOP;
    IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'amcheck') THEN
        RETURN;
    END IF;
    FOR each IN
        SELECT c.oid AS number, c.relname AS name
        FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_am AS m ON m.oid = c.relam
        WHERE c.relnamespace = current_schema()::regnamespace AND m.amname = 'btree' ORDER BY c.relname
    LOOP
        BEGIN
            EXECUTE format(
                'SELECT %I.bt_index_check(%s::regclass, true)',
                (SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE extname = 'amcheck'),
                each.number
            );
        EXCEPTION WHEN data_corrupted OR index_corrupted OR internal_error OR io_error THEN
            RETURN NEXT format('The index %s is damaged: %s.', each.name, SQLERRM);
        END;
    END LOOP;
END $$;
