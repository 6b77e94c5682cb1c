-- uses_of_reference: The requests that gave a reference, of one account or of all, newest first.
SELECT r.key, b.last_key, r.batch FROM account AS a
CROSS JOIN reference AS r ON r.account = a.id AND r.reference = :reference
LEFT JOIN batch AS b ON r.batch = 1 AND b.key = r.key
WHERE :account IS NULL OR a.id = :account
ORDER BY r.key DESC;

-- hits_of_references: The messages of an account's requests that gave one of these references.
SELECT {message}, f.state, f.err FROM json_each(:references) AS wanted
CROSS JOIN reference AS r ON r.account = :account AND r.reference = wanted.value
CROSS JOIN message AS m ON m.key = r.key LEFT JOIN final AS f ON f.key = m.key
WHERE r.batch = 0 ORDER BY m.key;
