"""Sending: from a customer's request to stored and charged messages, the same for every door."""
