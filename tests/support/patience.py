"""How long tests wait, for machines that are slow and do all at once. Who waits for less time proves no more."""

PATIENCE_S = 60.0
"""A condition, an answer, a page."""

COMMAND_S = 120.0
"""A program that starts, does its work and ends."""
