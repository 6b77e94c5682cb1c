-- suppression_key: The key of the suppressions' digests, with the inner pad of HMAC on it; empty where data keys have it.
SELECT inner_pad FROM suppression_key;

-- set_suppression_key: Writes the key of the suppressions' digests, with the pads of HMAC on it.
UPDATE suppression_key SET inner_pad = :inner_pad, outer_pad = :outer_pad;

-- overwrite_freed: Needs no statement: the server's VACUUM decides.
