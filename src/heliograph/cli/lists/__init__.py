"""Sending to the recipients of a file."""
