"""Gateways elsewhere: the contexts that name them, and a client of their admin API."""
