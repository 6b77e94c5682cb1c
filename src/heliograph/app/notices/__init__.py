"""Notices: messages for accounts, and their delivery."""
