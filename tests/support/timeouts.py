"""Offers the timeouts of tests, long enough for slow and busy machines. A shorter timeout proves no more."""

PATIENCE_S = 60.0
"""Seconds to wait for a condition, an answer, a page."""

COMMAND_S = 120.0
"""Seconds to wait for a program that starts, does its work and ends."""
