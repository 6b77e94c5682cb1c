-- add_account: Adds an account; no row if the name exists.
INSERT INTO account ({account_columns}) VALUES ({account_values}) ON CONFLICT (name) DO NOTHING RETURNING id;

-- update_account: Changes all changeable columns of an account. Waiting messages are not counted without a limit: the
-- next request counts them for a new limit.
UPDATE account SET
    used_waiting = CASE WHEN max_waiting = :max_waiting THEN used_waiting ELSE {UNCOUNTED} END, {account_changes}
WHERE id = :id;

-- account_by_id: An account.
SELECT {account} FROM account WHERE id = :account;

-- account_by_name: An account.
SELECT {account} FROM account WHERE name = :name;

-- account_name_in_any_case: The name of an account that is this name, or differs from it in case only. Old stores may
-- have both.
SELECT name FROM account WHERE lower(name) = lower(:name) ORDER BY name = :name DESC LIMIT 1;

-- account_by_system_id: The account that SMPP clients bind to by this name: its own name or its chosen name.
SELECT {account} FROM account WHERE name = :system_id OR (smpp_system_id = :system_id AND smpp_system_id <> '')
ORDER BY name = :system_id DESC LIMIT 1;

-- accounts: Every account with its balance, by name.
SELECT {account}, balance FROM account ORDER BY name {bytewise};

-- account_names_with: Names that contain a text: the name itself first, then names that begin with it.
SELECT name FROM account WHERE replace(lower(name), :text, '') <> lower(name)
ORDER BY CASE WHEN lower(name) = :text THEN 0 WHEN substr(lower(name), 1, length(:text)) = :text THEN 1 ELSE 2 END,
    name {bytewise}
LIMIT :limit;

-- accounts_by_plan: The number of accounts of each plan.
SELECT plan, count(*) FROM account GROUP BY plan;

-- accounts_without_credit: Accounts that are not suspended and cannot pay for another message.
SELECT name FROM account WHERE balance + credit_limit <= 0 AND NOT suspended ORDER BY name {bytewise} LIMIT :limit;

-- lock_account: The balance of an account, locked until the transaction ends.
SELECT balance FROM account WHERE id = :account;

-- change_balance: Adds to the balance of an account.
UPDATE account SET balance = balance + :amount WHERE id = :account;

-- arm_low_balance: Lets the account be told as soon as its balance falls below its threshold, unless it is below already.
UPDATE account SET low_balance_armed = coalesce(balance >= low_balance, {false}) WHERE id = :account;

-- last_entry: The last key of an entry that is no charge, in a range; NULL if there is none.
SELECT max(key) FROM ledger WHERE account = :account AND key >= :start AND key < :end AND key & 31 = 31;

-- enter: Adds an entry without a message.
INSERT INTO ledger (account, key, kind, amount, message, at, note)
VALUES (:account, :key, :kind, :amount, 0, :at, :note);

-- top_up: Amount of the top-up with a reference, and the balance after it.
SELECT amount, balance FROM top_up WHERE account = :account AND reference = :reference;

-- keep_top_up: Keeps the outcome of a top-up with a reference.
INSERT INTO top_up (account, reference, amount, balance) VALUES (:account, :reference, :amount, :balance);

-- cost: Number and total price of the charged messages among these.
SELECT count(*), CAST(coalesce(sum(m.price), 0) AS bigint) FROM message AS m WHERE m.key {among(keys)} AND m.price > 0;

-- enter_refunds: Adds refunds of messages, with consecutive keys.
INSERT INTO ledger (account, key, kind, amount, message, at, note)
SELECT :account, :key + 32 * (row_number() OVER (ORDER BY m.key) - 1), {EntryKind.REFUND}, m.price, m.key, :at, :note
FROM message AS m WHERE m.key {among(keys)} AND m.price > 0;

-- ledger: Entries of an account, newest first.
SELECT key, account, kind, amount, message, at, note FROM ledger
WHERE account = :account AND key < :before ORDER BY key DESC, kind DESC LIMIT :limit;

-- statement: Entries of an account of some kinds, newest first, among as many as the effort allows.
SELECT key, account, kind, amount, message, at, note FROM (
    SELECT key, account, kind, amount, message, at, note FROM ledger
    WHERE account = :account AND key >= :start AND key < :before ORDER BY key DESC, kind DESC LIMIT :effort
) AS looked
WHERE kind >= :least AND kind <= :most ORDER BY key DESC, kind DESC LIMIT :limit;

-- reached_entry: The entry where the effort ends, unless the ledger ends before.
SELECT key FROM ledger WHERE account = :account AND key >= :start AND key < :before
ORDER BY key DESC, kind DESC LIMIT 1 OFFSET :effort - 1;

-- balance_before: The balance of an account before its entries from a key on, and the number of these, up to a limit.
SELECT a.balance - later.amount, later.entries FROM account AS a CROSS JOIN (
    SELECT CAST(coalesce(sum(amount), 0) AS bigint) AS amount, count(*) AS entries
    FROM (SELECT amount FROM ledger WHERE account = :account AND key >= :key LIMIT :entries) AS newest
) AS later WHERE a.id = :account;

-- usage: The latest entries of an account by spans of time: number of charges, sums of charges and refunds, and charges
-- of messages from phones.
SELECT key / 4096 / :step * :step AS span,
    CAST(sum(CASE WHEN kind = {EntryKind.CHARGE} THEN 1 ELSE 0 END) AS bigint),
    CAST(-sum(CASE WHEN kind = {EntryKind.CHARGE} THEN amount ELSE 0 END) AS bigint),
    CAST(sum(CASE WHEN kind = {EntryKind.REFUND} THEN amount ELSE 0 END) AS bigint),
    CAST(-sum(CASE WHEN kind = {EntryKind.INBOUND} THEN amount ELSE 0 END) AS bigint)
FROM (
    SELECT key, kind, amount FROM ledger
    WHERE account = :account AND key >= :start AND key < :end ORDER BY key DESC LIMIT :entries
) AS latest
WHERE kind <> {EntryKind.TOP_UP}
GROUP BY span ORDER BY span;

-- keys: The keys of an account, revoked keys included.
SELECT id, account, digest, created, revoked, expires, used FROM api_key WHERE account = :account ORDER BY created, id {bytewise};

-- add_key: Adds a key; no row if the id exists.
INSERT INTO api_key (account, id, digest, created, revoked, expires)
VALUES (:account, :id, :digest, :created, :revoked, :expires)
ON CONFLICT DO NOTHING RETURNING 1;

-- revoke_key: Revokes a key that is not revoked.
UPDATE api_key SET revoked = :now WHERE account = :account AND id = :key AND revoked IS NULL RETURNING 1;
