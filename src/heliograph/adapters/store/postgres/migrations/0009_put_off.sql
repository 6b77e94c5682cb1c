-- Which messages of the queue an operator put off, or did not answer for. How many they are is looked at often: there
-- may be millions of scheduled ones beside them. A row that is moved beyond its message's time is one.
ALTER TABLE queue ADD COLUMN put_off boolean NOT NULL DEFAULT false;

CREATE OR REPLACE FUNCTION record_queueings(
    p_key bigint[], p_connector bigint[], p_due bigint[], p_expires bigint[], p_attempted boolean[], p_node bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO queue (key, slot, connector, due, expires, attempted, node, put_off)
    SELECT q.key, slot_of(coalesce(m.account, 0)), q.connector, q.due, q.expires, q.attempted, q.node,
        coalesce(m.time < q.due, false)
    FROM unnest(p_key, p_connector, p_due, p_expires, p_attempted, p_node)
        AS q (key, connector, due, expires, attempted, node)
    LEFT JOIN message AS m ON m.key = q.key
    ORDER BY q.key
    ON CONFLICT (key) DO UPDATE SET
        connector = excluded.connector, due = excluded.due, expires = excluded.expires,
        attempted = excluded.attempted, node = excluded.node, put_off = excluded.put_off;
END $$;
