"""Secrets, signatures, one-time codes, the audit chain, hosts and ports."""
