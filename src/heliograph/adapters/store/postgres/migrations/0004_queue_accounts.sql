-- Whose the rows of the queue are: an account's messages keep their order, and many of one account's are not in the way
-- of others'.
ALTER TABLE queue ADD COLUMN account bigint NOT NULL DEFAULT 0;

CREATE FUNCTION name_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT coalesce(max(m.account), 0) INTO NEW.account FROM message AS m WHERE m.key = NEW.key;
    RETURN NEW;
END $$;

CREATE TRIGGER queue_names_account BEFORE INSERT ON queue FOR EACH ROW EXECUTE FUNCTION name_account();

-- The accounts that have unclaimed rows of a connector due by `p_now`. Each is found by a jump in the index.
CREATE FUNCTION queued_accounts(p_connector bigint, p_now bigint, p_first smallint, p_last smallint)
RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_  bigint[] := '{}';
    account_ bigint := -9223372036854775808;
BEGIN
    LOOP
        SELECT q.account INTO account_ FROM queue AS q
        WHERE q.node IS NULL AND q.connector = p_connector AND q.account > account_
        ORDER BY q.account LIMIT 1;
        EXIT WHEN NOT FOUND;
        IF slot_of(account_) BETWEEN p_first AND p_last AND EXISTS (
            SELECT 1 FROM queue AS q
            WHERE q.node IS NULL AND q.connector = p_connector AND q.account = account_ AND q.due <= p_now
        ) THEN
            found_ := found_ || account_;
        END IF;
    END LOOP;
    RETURN found_;
END $$;

-- Like claim_queue, up to `p_limit` of each of these accounts. HG001 as there.
CREATE FUNCTION claim_queue_of(
    p_connector bigint, p_accounts bigint[], p_limit integer, p_now bigint, p_node bigint
) RETURNS TABLE (key bigint, connector bigint, attempted boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    keys bigint[] := '{}';
    each bigint;
BEGIN
    IF NOT node_lives(p_node) THEN
        RAISE EXCEPTION USING ERRCODE = 'HG001', MESSAGE = 'the work of this node was given to others';
    END IF;
    FOREACH each IN ARRAY p_accounts LOOP
        keys := keys || ARRAY(
            SELECT q.key FROM queue AS q
            WHERE q.node IS NULL AND q.connector = p_connector AND q.account = each AND q.due <= p_now
            ORDER BY q.due, q.key LIMIT p_limit FOR UPDATE SKIP LOCKED
        );
    END LOOP;
    UPDATE message AS m SET state = 1 WHERE m.key = ANY (keys) AND m.state = 0;
    UPDATE queue AS q SET node = p_node WHERE q.key = ANY (keys);
    RETURN QUERY
        SELECT q.key, q.connector, q.attempted
        FROM unnest(keys) WITH ORDINALITY AS k (key, n) JOIN queue AS q ON q.key = k.key ORDER BY q.due, q.key;
END $$;
