"""Sends messages to the recipients of a file."""
