-- suppress_numbers: Suppresses numbers for a locked account. Returns how many are new.
SELECT count(*) FROM unnest(CAST(:numbers AS text[])) AS given (number)
WHERE suppress_number(:account, given.number, :now, :source);

-- suppressed_numbers: The suppressed ones of these numbers, by their digests, as acceptance finds them. With LIMIT each
-- number is looked up by the index. A join would read all suppressions of the account.
SELECT m.number
FROM suppression_key AS k, account AS a, unnest(CAST(:numbers AS text[])) AS m (number), LATERAL (
    SELECT 1 FROM suppression AS s WHERE s.account = a.id AND s.digest = keyed_digest(k, a.id, m.number) LIMIT 1
) AS found
WHERE a.id = :account AND a.suppressed;
