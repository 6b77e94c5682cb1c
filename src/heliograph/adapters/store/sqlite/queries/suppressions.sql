-- suppressed_numbers: The suppressed ones of these numbers, by their digests, as acceptance finds them.
SELECT m.value FROM account AS a CROSS JOIN json_each(:numbers) AS m CROSS JOIN suppression AS s
WHERE a.id = :account AND a.suppressed = {true}
  AND s.account = a.id AND s.digest = suppression_digest((SELECT key FROM suppression_key), a.id, m.value);
