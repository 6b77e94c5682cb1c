"""Commits of which the store refuses a part: bisects them, records the rest."""
