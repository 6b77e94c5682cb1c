-- When scheduled messages were given another time, and which they had. Twenty times of a message are kept at most
-- (app.facts.MOST_MOVES): who moves it for ever fills no disk.
CREATE TABLE moved (
    key  bigint NOT NULL,
    at   bigint NOT NULL,
    was  bigint NOT NULL,
    time bigint NOT NULL,
    PRIMARY KEY (key, at)
);

CREATE OR REPLACE FUNCTION reschedule_messages(
    p_account bigint, p_key bigint, p_tail bigint, p_time bigint, p_expires bigint, p_now bigint
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    keys bigint[] := still_scheduled(p_account, p_key, p_tail, p_now);
BEGIN
    IF cardinality(keys) > 0 THEN
        INSERT INTO moved (key, at, was, time)
        SELECT m.key, p_now, m.time, p_time FROM message AS m
        WHERE m.key = ANY (keys) AND (SELECT count(*) FROM moved AS o WHERE o.key = m.key) < 20
        ON CONFLICT (key, at) DO UPDATE SET time = excluded.time;
        UPDATE queue SET due = p_time, expires = p_expires WHERE key = ANY (keys);
        UPDATE message SET time = p_time, expires = p_expires WHERE key = ANY (keys);
    END IF;
    RETURN keys;
END $$;
