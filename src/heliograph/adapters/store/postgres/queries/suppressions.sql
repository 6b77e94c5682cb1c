-- suppress_numbers: Suppresses numbers for a locked account. Returns how many are new.
SELECT count(*) FROM unnest(CAST(:numbers AS text[])) AS given (number)
WHERE suppress_number(:account, given.number, :now, :source);
