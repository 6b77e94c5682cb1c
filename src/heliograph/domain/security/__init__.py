"""Secrets, signatures, codes of authenticator apps, the audit chain, hosts and ports."""
