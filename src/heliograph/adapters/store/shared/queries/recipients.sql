-- The data of a phone.

-- messages_to: The messages to a number in the blocks, each with its account, in the order of their keys.
SELECT m.account, m.key FROM message_number AS n JOIN message AS m ON m.key = n.key
WHERE n.block IN (SELECT b.block FROM number_block AS b) AND n.number = :number AND m.destination = :number
  AND (m.account = :account OR :account = -1)
ORDER BY m.key;

-- newest_to: The messages to a number beyond all blocks.
SELECT m.account, m.key FROM message AS m
WHERE m.key > :reached AND m.destination = :number AND (m.account = :account OR :account = -1) ORDER BY m.key;

-- inbound_from: The inbound messages of a phone, each with its account and the rest of its id.
SELECT i.account, i.key, i.tail FROM inbound AS i
WHERE i.sender = :number AND (i.account + 0 = :account OR :account = -1) ORDER BY i.key;

-- suppressions_of: The accounts that suppress a phone with a known number.
SELECT s.account, s.since, s.source FROM suppression AS s
WHERE s.number = :number AND (s.account = :account OR :account = -1)
ORDER BY s.account;

-- unmatched_of: Receipts for a phone that match no message.
SELECT connector, operator_id, state, err, at FROM early WHERE destination = :number ORDER BY id;

-- waiting_parts_of: Number of parts of a phone's messages that wait for other parts.
SELECT count(*) FROM inbound_part WHERE sender = :number AND joined = 0;

-- forget_suppressions_of: Erases a suppressed number; its digests stay in force.
UPDATE suppression SET number = ''
WHERE number = :number AND (account = :account OR :account = -1);

-- forget_unmatched_of: Deletes receipts for a phone that match no message.
DELETE FROM early WHERE destination = :number;
