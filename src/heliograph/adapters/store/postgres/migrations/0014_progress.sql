-- Some operators tell that a message is on its way again and again, for hours: each state and code of a part is kept once,
-- as it first came, and twenty of a part at most (app.facts.MOST_PROGRESS).
CREATE OR REPLACE FUNCTION record_progress(
    p_key bigint[], p_segment integer[], p_state smallint[], p_err text[], p_at bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO progress (key, segment, state, err, at)
    SELECT fresh.key, fresh.segment, fresh.state, fresh.err, fresh.at FROM (
        SELECT
            told.key, told.segment, told.state, told.err, told.at,
            row_number() OVER (PARTITION BY told.key, told.segment ORDER BY told.place)
                + (SELECT count(*) FROM progress AS p WHERE p.key = told.key AND p.segment = told.segment) AS place
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
    WHERE fresh.place <= 20
    ON CONFLICT DO NOTHING;
END $$;
