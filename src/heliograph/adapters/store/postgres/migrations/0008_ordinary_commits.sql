-- What an ordinary commit does, with fewer statements, columns and looks into indexes. What is out of the ordinary is
-- left to the functions that were there before: a request with a reference, in a batch, of a scheduled or queued
-- message, or that cannot be paid for; and a fact that was recorded before, which fails here with unique_violation, so
-- that the whole commit is undone, and done again by the functions that leave the first one as it is.

-- The rows come as rows: one array of them is read by both sides for less than an array a column.

CREATE TYPE single_row AS (
    place         integer,  -- of its account among those of the call, from 1
    key           bigint,
    tail          bigint,
    price         bigint,
    time          bigint,
    expires       bigint,
    connector     bigint,
    segments      integer,
    kind          smallint,
    wants_receipt boolean,
    destination   text,
    sender        text,
    callback_url  text,
    content       bytea
);
CREATE TYPE sent_row AS (
    key bigint, segment integer, connector bigint, operator_id text, status bigint, at bigint
);
CREATE TYPE final_row AS (key bigint, state smallint, err text, at bigint, owed boolean);
CREATE TYPE awaiting_row AS (connector bigint, operator_id text, key bigint, segment integer);
CREATE TYPE callback_row AS (key bigint, "end" smallint, code integer, attempts integer, at bigint);

-- Like record_accepts, for requests of one message each, without reference, that go to the operator at once. `p_totals`
-- is what the requests of each of `p_accounts` cost together. It locks the accounts, in order, by itself. Returns NULL
-- where all are accepted.
CREATE FUNCTION record_singles(p_accounts bigint[], p_totals bigint[], p_rows single_row[])
RETURNS smallint[] LANGUAGE plpgsql AS $$
DECLARE
    payable boolean;
BEGIN
    IF cardinality(p_accounts) = 1 THEN
        -- found, judged, locked and charged by one statement
        UPDATE account SET balance = balance - p_totals[1]
        WHERE id = p_accounts[1] AND NOT suspended AND balance + credit_limit >= p_totals[1];
        payable := FOUND;
    ELSE
        PERFORM 1 FROM account WHERE id = ANY (p_accounts) ORDER BY id FOR NO KEY UPDATE;
        payable := NOT EXISTS (
            SELECT 1 FROM unnest(p_accounts, p_totals) AS s (id, amount) LEFT JOIN account AS a ON a.id = s.id
            WHERE a.suspended IS NOT FALSE OR a.balance + a.credit_limit < s.amount
        );
        IF payable THEN
            UPDATE account AS a SET balance = a.balance - s.amount
            FROM unnest(p_accounts, p_totals) AS s (id, amount) WHERE a.id = s.id;
        END IF;
    END IF;
    IF NOT payable THEN
        -- some of them may be: they are judged one by one
        PERFORM 1 FROM account WHERE id = ANY (p_accounts) ORDER BY id FOR NO KEY UPDATE;
        RETURN (
            SELECT record_accepts(
                p_accounts, array_agg(place ORDER BY n), array_agg(key ORDER BY n), array_agg(tail ORDER BY n),
                array_agg(price ORDER BY n), array_agg(time ORDER BY n), array_agg(0::bigint), array_agg(false),
                array_agg(NULL::text), array_agg(NULL::bytea), array_agg(n::integer ORDER BY n),
                array_agg(key ORDER BY n), array_agg(tail ORDER BY n), array_agg(price ORDER BY n),
                array_agg(time ORDER BY n), array_agg(expires ORDER BY n), array_agg(connector ORDER BY n),
                array_agg(segments ORDER BY n), array_agg(kind ORDER BY n), array_agg(1::smallint),
                array_agg(wants_receipt ORDER BY n), array_agg(false), array_agg(destination ORDER BY n),
                array_agg(sender ORDER BY n), array_agg(callback_url ORDER BY n), array_agg(''::text),
                array_agg(content ORDER BY n)
            )
            FROM unnest(p_rows) WITH ORDINALITY AS m (
                place, key, tail, price, time, expires, connector, segments, kind, wants_receipt, destination, sender,
                callback_url, content, n
            )
        );
    END IF;

    INSERT INTO message (
        key, tail, account, price, time, expires, batch, connector, segments, kind, state, wants_receipt, destination,
        sender, callback_url, reference, content
    )
    SELECT
        m.key, m.tail, p_accounts[m.place], m.price, m.time, m.expires, 0, m.connector, m.segments, m.kind, 1,
        m.wants_receipt, m.destination, m.sender, m.callback_url, '', m.content
    FROM unnest(p_rows) AS m;
    INSERT INTO ledger (account, key, kind, amount, message, at)
    SELECT p_accounts[m.place], m.key, 0, -m.price, m.key, m.time FROM unnest(p_rows) AS m WHERE m.price <> 0;
    RETURN NULL;
END $$;

CREATE FUNCTION insert_submissions(p_rows sent_row[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sent (key, segment, connector, operator_id, status, at) SELECT * FROM unnest(p_rows);
END $$;

CREATE FUNCTION insert_finals(p_rows final_row[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO final (key, state, err, at, owed) SELECT * FROM unnest(p_rows);
END $$;

CREATE FUNCTION insert_awaiting(p_rows awaiting_row[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO awaiting (connector, operator_id, key, segment) SELECT * FROM unnest(p_rows);
END $$;

CREATE FUNCTION insert_callbacks(p_rows callback_row[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO callback (key, "end", code, attempts, at) SELECT * FROM unnest(p_rows);
    IF EXISTS (SELECT 1 FROM unnest(p_rows) AS d JOIN callback_retry AS r ON r.key = d.key) THEN
        DELETE FROM callback_retry AS r USING unnest(p_rows) AS d WHERE r.key = d.key AND d."end" = 0;
        UPDATE callback_retry AS r SET due = NULL, node = NULL, attempts = d.attempts
        FROM unnest(p_rows) AS d WHERE r.key = d.key AND d."end" <> 0;
    END IF;
END $$;
