"""Administered things. Each is described once: its fields, its operations, and the scopes that they need.

The admin API, the commands, the console's pages and the reference are drawn from these descriptions. For example
`senders.py` makes `GET /admin/v1/senders`, `heliograph sender list` and the page *Senders*.
"""
