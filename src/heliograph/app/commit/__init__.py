"""Bisection of a commit with a fact that the store rejects: all other facts are recorded."""
