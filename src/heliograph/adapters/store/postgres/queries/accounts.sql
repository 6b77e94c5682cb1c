-- lock_account: The balance of an account, locked until the transaction ends.
SELECT balance FROM account WHERE id = :account FOR NO KEY UPDATE;
