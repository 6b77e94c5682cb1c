-- lock_account: The balance of an account, which nobody else changes until the transaction ends.
SELECT balance FROM account WHERE id = :account FOR NO KEY UPDATE;
