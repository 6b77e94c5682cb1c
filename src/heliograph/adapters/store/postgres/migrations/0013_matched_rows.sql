-- Like record_awaiting_matched, with the rows as rows.
CREATE FUNCTION delete_awaiting(p_rows awaiting_row[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM awaiting AS a USING unnest(p_rows) AS m
    WHERE a.connector = m.connector AND a.operator_id = m.operator_id AND a.key = m.key AND a.segment = m.segment;
END $$;
