"""Inbound: messages from phones, from the operator to their owners."""
