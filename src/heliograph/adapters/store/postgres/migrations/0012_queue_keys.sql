-- The product in the first one is more than a bigint where the low 32 bits of the account are 3,474,701,534 or more: such
-- an account could have nothing in the queue. Only bits 26 to 31 of it count. They follow from those 32 bits, taken here
-- in two halves; every account that had a queue key keeps it.
CREATE OR REPLACE FUNCTION slot_of(p_account bigint) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (
        (p_account & 65535) * 2654435769 + (((p_account >> 16 & 65535) * 2654435769 & 65535) << 16) >> 26 & 63
    )::smallint
$$;
