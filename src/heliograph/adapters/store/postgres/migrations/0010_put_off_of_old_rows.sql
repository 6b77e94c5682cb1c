-- By itself, since it takes long where much is scheduled, and locks no more than rows.
UPDATE queue AS q SET put_off = true FROM message AS m WHERE m.key = q.key AND m.time < q.due AND NOT q.put_off;
