-- By itself, since it takes long where much is scheduled, and locks no more than rows.
UPDATE queue AS q SET account = m.account FROM message AS m WHERE m.key = q.key AND q.account = 0;
