"""Sending: from what a customer asks to what is charged and stored, one way for every door."""
