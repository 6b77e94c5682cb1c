"""Limits of accounts: the gate, allowances, the traffic guard, failures to sign in."""
