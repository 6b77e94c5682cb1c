"""Gateways on other machines: contexts with their addresses, and a client of their admin API."""
