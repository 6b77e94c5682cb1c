"""Notices: what is owed to accounts, and how it reaches them."""
